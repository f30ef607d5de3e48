// CSV (RFC 4180) in and out.

/** Rows of cells. The separator is the first of , ; tab that the first line has outside quotes. */
export function parseCsv(text) {
  const source = text.replace(/^\ufeff/, "");
  const firstLine = source.slice(0, source.search(/[\r\n]|$/)).replaceAll(/"[^"]*"/g, "");
  const separator = [",", ";", "\t"].find((mark) => firstLine.includes(mark)) ?? ",";
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  const endRow = () => {
    row.push(cell);
    if (row.length > 1 || cell !== "") rows.push(row);
    row = [];
    cell = "";
  };
  for (let i = 0; i < source.length; ++i) {
    const letter = source[i];
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (source[i + 1] === '"') cell += source[++i];
      else quoted = false;
    } else if (letter === '"' && cell === "") quoted = true;
    else if (letter === separator) {
      row.push(cell);
      cell = "";
    } else if (letter === "\n") endRow();
    else if (letter === "\r" && source[i + 1] !== "\n") endRow();
    else if (letter !== "\r") cell += letter;
  }
  if (quoted) throw new Error(`A quote that opens in row ${rows.length + 1} never closes`);
  if (cell !== "" || row.length > 0) endRow();
  return rows;
}

/** A cell. One that a spreadsheet would run as a formula gets an apostrophe, unless it is a number. */
function cellOf(value) {
  let text = value === null || value === undefined ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function writeCsv(rows) {
  return rows.map((row) => row.map(cellOf).join(",")).join("\r\n") + "\r\n";
}
