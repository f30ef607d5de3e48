#include "d3/model.h"

#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "api/systemone.h"
#include "decision/validation.h"
#include "json/parse.h"
#include "library/convert.h"
#include "library/failure.h"
#include "library/load.h"
#include "server/request_id.h"

namespace d3 {
namespace {

/// Runs `task` on a thread of its own and waits: loading sets what OpenMP keeps for each thread, and the
/// caller's is not ours.
template <typename Task>
void run_apart(const Task& task) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      task();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

}  // namespace

class Model::Impl {
 public:
  Impl(ModelInfo info, std::unique_ptr<engine::DecisionModel> model, size_t max_queued_requests)
      : info_(std::move(info)), model_(std::move(model)), max_queued_requests_(max_queued_requests) {
    info_.dtype = model_->engine().dtype_name();
    info_.max_length = model_->info().max_length;
    info_.takes_media = model_->info().takes_media;
    if (!model_->info().model_name.empty()) info_.name = model_->info().model_name;
  }

  const ModelInfo& info() const { return info_; }
  size_t max_queued_requests() const { return max_queued_requests_; }

  std::future<Result<Reply>> submit(Request request) {
    auto promise = std::make_shared<std::promise<Result<Reply>>>();
    std::future<Result<Reply>> future = promise->get_future();
    try {
      submit(std::move(request), promise);
    } catch (...) {
      promise->set_value(library::failure_of(std::current_exception()));
    }
    return future;
  }

  std::string ask_json(std::string_view body) {
    const auto request =
        std::make_shared<const decision::Request>(decision::parse_request(json::parse(body)));
    engine::PreparedRequest prepared = model_->preparer().prepare(request);
    const int64_t input_tokens = prepared.total_tokens();
    const std::vector<decision::Answer> answers = model_->answer(std::move(prepared));
    api::ServedModel served;
    served.names = {info_.name};
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return api::write_systemone(*request, answers, served,
                                {.request_id = next_request_id(),
                                 .created = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                                 .input_tokens = input_tokens});
  }

 private:
  void submit(Request request, const std::shared_ptr<std::promise<Result<Reply>>>& promise) {
    std::optional<engine::Clock::time_point> deadline;
    if (request.timeout.count() > 0) deadline = engine::Clock::now() + request.timeout;
    const auto checked = library::validated(std::move(request));
    engine::PreparedRequest prepared = model_->preparer().prepare(checked);
    const int64_t input_tokens = prepared.total_tokens();
    model_->engine().submit(
        std::move(prepared), deadline, [promise, checked, input_tokens](const engine::Outcome& outcome) {
          promise->set_value(outcome.error ? Result<Reply>(library::failure_of(outcome.error))
                                           : library::result_of<Reply>([&] {
                                               return library::reply_of(*checked, outcome, input_tokens);
                                             }));
        });
  }

  std::string next_request_id() {
    const std::lock_guard lock(request_ids_mutex_);
    return request_ids_.next();
  }

  ModelInfo info_;
  const std::unique_ptr<engine::DecisionModel> model_;
  const size_t max_queued_requests_;
  std::mutex request_ids_mutex_;
  server::RequestIds request_ids_;
};

Result<Model> Model::load(const std::string& model, const LoadOptions& options) {
  return library::result_of<Model>([&] {
    std::unique_ptr<Impl> impl;
    run_apart([&] {
      ModelInfo info;
      info.name = model;
      const Folder folder = library::find_checkpoint(model, options.hub);
      if (!folder.embedded()) info.directory = folder.path();
      impl = std::make_unique<Impl>(info, engine::load_model(library::engine_options(folder, options)),
                                    options.max_queued_requests);
    });
    return Model(std::move(impl));
  });
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const ModelInfo& Model::info() const { return impl_->info(); }

Result<Reply> Model::ask(Request request) const { return submit(std::move(request)).get(); }

std::future<Result<Reply>> Model::submit(Request request) const { return impl_->submit(std::move(request)); }

std::vector<Result<Reply>> Model::ask_all(std::vector<Request> requests) const {
  const size_t most = std::max<size_t>(1, impl_->max_queued_requests() / 2);
  std::deque<std::future<Result<Reply>>> asked;
  std::vector<Result<Reply>> results;
  results.reserve(requests.size());
  const auto take_first = [&] {
    results.push_back(asked.front().get());
    asked.pop_front();
  };
  for (Request& request : requests) {
    if (asked.size() == most) take_first();
    asked.push_back(submit(std::move(request)));
  }
  while (!asked.empty()) take_first();
  return results;
}

Result<std::string> Model::ask_json(std::string_view body) const {
  return library::result_of<std::string>([&] { return impl_->ask_json(body); });
}

std::string_view version() { return D3_VERSION; }

}  // namespace d3
