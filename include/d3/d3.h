// d3/d3.h: the whole C++ API: load a decision model, ask it. Needs C++17 and the standard library alone.
//
//   auto model = d3::Model::load("vllm-sr/d3-nano");
//   if (!model) return complain(model.failure().message);
//   auto reply = model->ask({"The printer is out of toner.",
//                            {d3::Question::choice("team", "Who should handle this?",
//                                                  {{"it", "Computers and printers"}, {"hr", "People"}})}});
//   if (reply) use(reply->answers[0].decision());
#pragma once

#include "d3/answer.h"
#include "d3/model.h"
#include "d3/request.h"
#include "d3/result.h"
