// Requests to start from.

// A receipt, drawn here: no file is needed.
function drawReceipt() {
  const canvas = document.createElement("canvas");
  canvas.width = 224;
  canvas.height = 288;
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#e9e4da";
  pen.fillRect(0, 0, 224, 288);
  pen.fillStyle = "#ffffff";
  pen.fillRect(32, 16, 160, 256);
  pen.fillStyle = "#222222";
  pen.font = "bold 15px monospace";
  pen.fillText("CORNER CAFE", 62, 46);
  pen.font = "12px monospace";
  [["Espresso", "2.40"], ["Croissant", "3.10"], ["Water", "1.80"]].forEach(([name, price], i) => {
    pen.fillText(name, 46, 88 + i * 24);
    pen.fillText(price, 150, 88 + i * 24);
  });
  pen.fillRect(46, 160, 132, 1);
  pen.font = "bold 14px monospace";
  pen.fillText("TOTAL", 46, 186);
  pen.fillText("7.30", 142, 186);
  const url = canvas.toDataURL("image/png");
  return { kind: "image", url, name: "receipt.png", size: Math.floor((url.length - 22) * 0.75) };
}

// Three seconds of a ball that rolls to the right: WebM, 1650 bytes.
const kRollingBall = [
  "GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQJChYECGFOAZwEAAAAAAAZCEU2bdLpNu4tTq4QVSalmU6yBoU27i1OrhBZUrmtTrIHYTb",
  "uMU6uEElTDZ1OsggEbTbuMU6uEHFO7a1OsggYs7AEAAAAAAABZAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVSalmsirXsYMPQkBNgI1MYXZmNjIuMTIuMTAxV0GNTGF2ZjYyLj",
  "EyLjEwMUSJiECncAAAAAAAFlSua76uAQAAAAAAADXXgQFzxYhkAnP4WN37ipyBACK1nIN1bmSIgQCGhVZfVlA4g4EBI+ODhA7msoDghrCBYLqB",
  "QBJUw2fYc3OgY8CAZ8iaRaOHRU5DT0RFUkSHjUxhdmY2Mi4xMi4xMDFzc7JjwItjxYhkAnP4WN37imfIoUWjiERVUkFUSU9ORIeTMDA6MDA6MD",
  "MuMDAwMDAwMDAwAB9DtnVErueBAKNBdIEAAIDwDACdASpgAEAAAEcIhYWIhYSIAaIQDuF7AaUD/Afxg/gO6A/jBvAP+A/gPsA9ADwAPSA/qz+x",
  "XwA/qHcoKxBMkH2A1YHZAf4b/Bv7f/Pf59/zf7ByAP6AxbVHNcsIDpT5c5+Y6/jZRI9iqPKlb31ygP7/iPfH/li9v/V/XnpP1ROj+DnrwwW1dr",
  "uF40RSTxbn5WkvaN7TgOv9m+btkSJ/8pEz47XAj0Zlmb+xmP//Pf/9hOqK/lcCcU///53H1B9Qcgkiw3KfyhM1K4PdCCvSlP//vaZQRd8PXtez",
  "dD3gt2/yEcwUWYyKcQqs/KMLY+T/aWw7J/26ewQcDhW7fRLybodCtSMW4Zn/4YT+xD/3JjQM8ZR5OvA5UWRgb//ng7/I8iSnJf6/yoLOsXbZ+W",
  "aWduAPoOXzcYlhjXbNNufnySfKyVd3Jig1z/TpgbLvYQLqVi7fxMaVpk/q5zsGbwMZx1f/R7H/tDOjeDLYBwpYAKPggQD6ABEEAAEQDRAAwGdX",
  "/+P7DAQyj9jqgQmmaUEb5cc+5e15PT4AESRuY9fxAChqu0yG0TDhIh8OgkmNVI7NjlDrDLUs0WHxKWQ/eMloLhfEm7Ga6i1Mt/Rdl1gPtwAAo7",
  "WBAfQAUQMABRANEADADtbg6gjUXzQhUkini6TZ2YGZLQDHuT3YBsfgQAArpPFnpZWQ+kfUAKPigQLuABEEAAUQDRAAwDf/hsFtt3eB+yXwEB5F",
  "HfMAovl5i41AWnHapluNFhUbKDzjI0EmShlD6YsHYtRSDYF/+rBbvrSM+meAoHkJLH7ZAPLgvQA7QmTn710/swf9V9xcH4CjwYED6ADxAgAFEA",
  "0QAMAA4YFvf0Pj/ml5o3pOq6vZ+EiBMZtLSWvM9aXn8zQEDcxtLEllZk6dIQ/5YD3thE9bfQAAo9yBBOIAcQMABRANEADAP/8E/7HTD4yZXHMG",
  "5FhXXYDt7YwApgbdAX0+UoyBeFPnX4w/nZwyK09CAet9xMeqcdPDfO+7uoghmDJ3EFxSjdT7BBqGnOwD3owW1YSQAKPIgQXcADEDAAUQDRAAwA",
  "7MYPR1mvkyTzvU3/G0whS0+gBIli1UBHRkSatEd5SY+bZkdXLD1zXu8KlBWMkrlaXB1XlIohuPIAAAo9KBBtYA0QIABRANEKMA/QASiB8acAK4",
  "p3dnUzZ+use3gejQBLf05YmEYGyLnuVxoe9HJOmYVqbA40thfjvJKPphnO6SFa9xsBzW9eCRzNWjYL0Ao8mBB9AAkQIABRANEADAAOGBf6AD5m",
  "wr7klmiQCke/qTKfjZ/bjlilqLBgIH1RBGYBAjU7aUGw6sRoh6fI4OGcCb9S6yJGIPwwAAo6qBCMoAsQIABRANEADAANHBX19CE0kG8PPTDwwk",
  "x4uIUNq9ArK9r7toHECj1YEJxAAxAwAFEA0QAMAphigIRcN0cUW711qcBEekifbwpH+q6DSpzywBWfJBeLvzrcO5qWelkvjOvGkgHwC+F/XMtk",
  "4YTNJrTTSdYaPlxjCwMXSJcgCjqIEKvgCxAgAFEA0QAMAA0cFfv0ITP3VuGSrghiAojNlz1mSnjrMgTgAcU7trkbuPs4EAt4r3gQHxggF48IED",
].join("");

function rollingBall() {
  return { kind: "video", url: `data:video/webm;base64,${kRollingBall}`, name: "ball.webm", size: 1650 };
}

export const kExamples = [
  {
    name: "Ticket routing",
    request: `{"state": "Hi, I was charged twice for my March invoice and nobody has answered my two emails. Please refund the second payment today, otherwise I will cancel.",
      "questions": {
        "team": {"type": "choice", "instructions": "Which team should handle this ticket?", "criteria": {
          "billing": "Payments, invoices and refunds", "technical": "Something does not work",
          "sales": "Plans, prices and upgrades", "account": "Login, access and personal data", "other": null}},
        "angry": {"type": "noul", "instructions": "Is the customer angry?"},
        "urgency": {"type": "score", "instructions": "How urgent is it?", "criteria": ["Can wait", "This week", "Today", "Now"]}}}`,
  },
  {
    name: "Spam",
    request: `{"state": "CONGRATULATIONS! Your number was drawn. Reply with your bank details within 24 hours to claim the prize.",
      "questions": {"spam": {"type": "noul", "instructions": "Is this message spam?",
        "criteria": {"true": "Unwanted advertising, fraud or phishing", "false": "A message someone wants to get"}}}}`,
  },
  {
    name: "Urgency",
    request: `{"state": "The checkout page has been answering 500 for ten minutes, and the campaign starts at noon.",
      "questions": {"severity": {"type": "score", "instructions": "How severe is this incident?",
        "criteria": ["Cosmetic", "One user is affected", "Some users are affected", "All users are affected", "Money is being lost"]}}}`,
  },
  {
    name: "JSON record",
    request: `{"state": {"order": 48213, "customer": {"since": "2019-04-02", "orders": 57, "chargebacks": 0},
        "amount": 1299.00, "currency": "EUR", "ship_to": "parcel locker", "ip_country": "DE", "card_country": "DE"},
      "questions": {
        "review": {"type": "choice", "instructions": "What should happen with this order?", "criteria": {
          "approve": "Nothing is unusual", "verify": "Ask the customer to confirm", "reject": "Clear signs of fraud"}},
        "loyal": {"type": "noul", "instructions": "Is this a loyal customer?"}}}`,
  },
  {
    name: "Image kind",
    media: drawReceipt,
    request: `{"state": "An employee uploaded this picture.",
      "questions": {"kind": {"type": "choice", "instructions": "What does the image show?",
        "criteria": {"receipt": "A till receipt or an invoice", "screenshot": "A computer screen", "photo": "People, places or things"}}}}`,
  },
  {
    name: "Video",
    media: rollingBall,
    request: `{"state": "A clip from a camera over the belt.",
      "questions": {"direction": {"type": "choice", "instructions": "In which direction does the ball move?",
        "criteria": {"left": null, "right": null, "still": "It does not move"}}}}`,
  },
];
