#include "solver/distributed/job.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <thread>

namespace espalier::cluster_test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMostSeconds = 240;
constexpr std::chrono::seconds kMostToLeave(30);

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A directory of the job's own, which also marks its processes: it is in the environment
// of all of them.
class Directory {
 public:
  Directory() : path_((fs::temp_directory_path() / "espalier_job_XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp: " + path_);
    fs::create_directory(temporary());
  }
  ~Directory() { fs::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] fs::path out() const { return fs::path(path_) / "out"; }
  [[nodiscard]] fs::path err() const { return fs::path(path_) / "err"; }
  [[nodiscard]] fs::path temporary() const { return fs::path(path_) / "tmp"; }

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(temporary()))
      if (!entry.is_directory()) files.push_back(entry.path().string());
    return files;
  }

  [[nodiscard]] std::vector<std::string> processes() const {
    std::vector<std::string> processes;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      if (slurp(entry.path() / "environ").find(path_) == std::string::npos) continue;
      processes.push_back(entry.path().filename().string() + " " +
                          slurp(entry.path() / "comm"));
    }
    return processes;
  }

 private:
  std::string path_;
};

// Between fork() and exec(): only calls that are safe there.
[[noreturn]] void become(char* const* arguments, char* const* environment,
                         const char* out, const char* err) {
  const int in_fd = open("/dev/null", O_RDONLY);
  const int out_fd = open(out, O_WRONLY | O_CREAT, 0600);
  const int err_fd = open(err, O_WRONLY | O_CREAT, 0600);
  if (dup2(in_fd, 0) == 0 && dup2(out_fd, 1) == 1 && dup2(err_fd, 2) == 2) {
    alarm(kMostSeconds);  // one that hangs is ended by a signal
    execve(arguments[0], arguments, environment);
  }
  _exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t start(int processes, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment, const Directory& directory) {
  std::vector<std::string> words = {MPIRUN, "-n", std::to_string(processes),
                                    FAILING_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = {"TMPDIR=" + directory.temporary().string()};
  for (char** each = environ; *each != nullptr; ++each)
    if (!std::string(*each).starts_with("TMPDIR=")) variables.emplace_back(*each);
  variables.insert(variables.end(), environment.begin(), environment.end());
  const std::vector<char*> argv = pointers(words), envp = pointers(variables);
  const pid_t id = fork();
  if (id < 0) throw std::runtime_error("fork failed");
  if (id == 0)
    become(argv.data(), envp.data(), directory.out().c_str(), directory.err().c_str());
  return id;
}

}  // namespace

int Job::count(const std::string& text) const {
  int found = 0;
  for (std::size_t at = err.find(text); at != std::string::npos;
       at = err.find(text, at + 1))
    ++found;
  return found;
}

Job run_job(int processes, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment,
            const std::function<void(int)>& once_started) {
  const Directory directory;
  const Clock::time_point begin = Clock::now();
  const pid_t id = start(processes, arguments, environment, directory);
  int state = 0;
  for (bool told = !once_started; waitpid(id, &state, WNOHANG) == 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (told || slurp(directory.out()).find("started") == std::string::npos) continue;
    once_started(id);
    told = true;
  }
  Job job;
  job.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  job.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const Clock::time_point end = Clock::now();
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    job.processes_left = directory.processes();
  } while (!job.processes_left.empty() && Clock::now() - end < kMostToLeave);
  job.files_left = directory.files();
  job.out = slurp(directory.out());
  job.err = slurp(directory.err());
  return job;
}

void PrintTo(const Job& job, std::ostream* out) {
  *out << "status " << job.status << " after " << job.seconds << " s\n" << job.err;
}

testing::AssertionResult ended(const Job& job, int status) {
  if (job.status == status && job.processes_left.empty() && job.files_left.empty())
    return testing::AssertionSuccess();
  testing::AssertionResult result = testing::AssertionFailure();
  result << testing::PrintToString(job) << "left:\n";
  for (const std::string& each : job.processes_left) result << each << "\n";
  for (const std::string& each : job.files_left) result << each << "\n";
  return result;
}

}  // namespace espalier::cluster_test
