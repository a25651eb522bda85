#include "cli/shared/torch_helps.h"

#include <map>
#include <string>

namespace kedge::cli {
namespace {

// What generate and chat have in common, with what each has besides.
std::vector<Flag> answer_flags(const std::vector<Flag>& more) {
  std::vector<Flag> flags = {
      {"--max-tokens", "N", "new tokens at most (256)"},
      {"--temperature", "T",
       "how freely to choose among likely tokens; 0: always the likeliest (0)"},
      {"--top-k", "K", "only among the K likeliest"},
      {"--top-p", "P", "only among the likeliest that together have probability P"},
      {"--min-p", "P", "only those at least P times as likely as the likeliest"},
      {"--repetition-penalty", "X", "make tokens that were there before less likely"},
      {"--seed", "N", "of the choice (0)"},
      {"--stop", "TEXT", "end an answer before this text; may be repeated"},
      {"--tokenizer", "FILE", "a tokenizer.json; default: the model's own"},
      {"--adapter", "DIR", "LoRA adapters in a folder of PEFT's, merged first"}};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

}  // namespace

const VerbHelp* find_torch_help(std::string_view verb) {
  static const std::map<std::string, VerbHelp, std::less<>> kHelps = {
      {"train",
       VerbHelp{
           .usage = "kedge train [CONFIG] [key=value ...] [--waits]",
           .text =
               "Trains the model that the config describes, into a run folder. Goes on with an\n"
               "unfinished run of the same config, if there is one; resume=never starts a new "
               "one.\n"
               "Any value can be given as key=value (or --key=value): `kedge config reference`.\n"
               "SIGTERM, Ctrl-C, SIGHUP, SIGUSR1 and the end of the job's time make it save and "
               "exit\n"
               "with 85: run the same command again.",
           .flags = {kConfigFlag,
                     {"--waits", "", "tell which operations make a step wait for the device"}}}},
      {"eval",
       VerbHelp{
           .usage = "kedge eval MODEL [key=value ...]",
           .text = "Measures a trained model (a run, or a checkpoint folder) on the "
                   "validation split of its\n"
                   "data: metrics, scores per class, confusion matrix. key=value changes the "
                   "config it\n"
                   "was trained with, e.g. data.path=other/folder. Of a language model (a "
                   "run, a folder of\n"
                   "Hugging Face's, a .gguf file) --text measures the perplexity, and "
                   "--choices which of\n"
                   "several answers it finds the likeliest.",
           .flags = {{"--train", "", "measure on the training split instead"},
                     {"--text", "FILE",
                      "a text, or .jsonl with \"text\": perplexity, bits per byte"},
                     {"--context", "N",
                      "tokens of a window of --text (what the model takes, up to 2048)"},
                     {"--stride", "N", "tokens from one window to the next (half a window)"},
                     {"--choices", "FILE",
                      ".jsonl with \"context\", \"choices\", \"answer\"; or with "
                      "\"context\",\n\"continuation\""},
                     {"--delimiter", "TEXT", "between a context and a choice (a space)"},
                     {"--output", "FILE", "a record an item of --choices; run again, it goes on"},
                     {"--batch", "N", "windows (4) or continuations (16) at once"},
                     {"--tokenizer", "FILE", "tokenizer.json; default: the model's own"},
                     {"--adapter", "DIR", "a folder of PEFT's, merged into the model"},
                     kJsonFlag}}},
      {"predict",
       VerbHelp{.usage = "kedge predict MODEL INPUT [key=value ...]",
                .text = "Applies a trained model (a run, or a checkpoint folder) to an image, a "
                        "folder of images,\n"
                        "or a .jsonl file of records with \"image\" (a path) or \"text\". Rows are "
                        "appended\n"
                        "batch by batch: the same command again goes on where it stopped.",
                .flags = {{"--output", "FILE", "a .csv or .jsonl file; default: CSV on stdout"},
                          {"--top-k", "K", "classes per row (5)"},
                          {"--batch", "N", "items per batch (100)"}}}},
      {"generate",
       VerbHelp{
           .usage = "kedge generate MODEL [PROMPT] [key=value ...]",
           .text = "Goes on with a text. MODEL is a folder of Hugging Face's, a .gguf file, a run "
                   "or a\n"
                   "checkpoint folder; without PROMPT the text is read from standard input. A file "
                   "of\n"
                   "prompts or conversations is answered record by record: the same command again "
                   "goes on\n"
                   "where it stopped. Special tokens in a prompt count as such.",
           .flags = answer_flags(
               {{"--input", "FILE",
                 ".jsonl with \"prompt\" or \"messages\" in each record; else a prompt a line"},
                {"--output", "FILE", "answers of --input, a record a line"},
                {"--batch", "N", "prompts of --input at once (8)"},
                kJsonFlag})}},
      {"chat",
       VerbHelp{
           .usage = "kedge chat MODEL [TEXT] [key=value ...]",
           .text = "Talks with a language model that has a chat template. TEXT is what you say "
                   "first, and\n"
                   "all if standard input is no terminal; else each line of it is a turn of yours. "
                   "Ctrl-C\n"
                   "ends an answer, Ctrl-D the conversation.",
           .flags = answer_flags(
               {{"--system", "TEXT", "how the model shall behave, where its template has that"},
                {"--context", "N",
                 "tokens that the conversation has room for (8192, or what the model takes)"}})}},
      {"serve",
       VerbHelp{
           .usage = "kedge serve MODEL [key=value ...]",
           .text = "Answers OpenAI's API with a language model: /v1/chat/completions, "
                   "/v1/completions,\n"
                   "/v1/models; /health for who watches it. Requests are answered together, and "
                   "each as if it\n"
                   "were alone. Stops on SIGTERM or Ctrl-C after what is being answered.",
           .flags = {{"--host", "H", "the address to listen on (127.0.0.1: this machine alone)"},
                     {"--port", "P", "the port (8000); 0: any free one"},
                     {"--tokens", "FILE",
                      "who may ask: a token a line, sent as `Authorization: Bearer TOKEN`"},
                     {"--tls-cert", "FILE", "serve https with this certificate (PEM)"},
                     {"--tls-key", "FILE", "and its private key"},
                     {"--name", "NAME", "what requests call the model; default: its file's name"},
                     {"--slots", "N", "texts that are answered at once (4)"},
                     {"--context", "N",
                      "tokens that each has room for (4096, or what the model takes)"},
                     {"--queue", "N", "texts that may wait for a slot (64)"},
                     {"--tokenizer", "FILE", "a tokenizer.json; default: the model's own"},
                     {"--adapter", "DIR", "LoRA adapters in a folder of PEFT's, merged first"},
                     kJsonFlag}}},
      {"score",
       VerbHelp{.usage = "kedge score [CONFIG] [key=value ...]",
                .text = "Writes what the config's distill.teacher finds of every training sample "
                        "to a folder, from\n"
                        "which distill.scores trains: the teacher is computed once, not in every "
                        "step of every run.\n"
                        "Run again, it goes on where it stopped.",
                .flags = {{"--output", "DIR", "the folder; default: distill.scores"},
                          {"--top-k", "K",
                           "keep the K likeliest and the probability of the rest; 0: all\n(all "
                           "classes, 64 tokens)"},
                          kConfigFlag}}},
      {"export",
       VerbHelp{
           .usage = "kedge export MODEL OUTPUT",
           .text =
               "Writes a trained model (a run, or a checkpoint folder) for other programs. The "
               "output's\n"
               "ending says how: .safetensors (weights), .pt (TorchScript, for torch.jit.load) or "
               ".onnx\n"
               "(opset 17, for onnxruntime and others; batches of any size). With --format OUTPUT "
               "is a folder.",
           .flags = {{"--format", "hf|peft",
                      "a language model as transformers loads it; its adapters as PEFT does"},
                     {"--dtype", "TYPE",
                      "hf: of the weights, fp32, bf16 or fp16; default: as they were trained"}}}},
      {"merge",
       VerbHelp{.usage = "kedge merge MODEL OUTPUT [key=value ...]\n"
                         "       kedge merge BASE OUTPUT --adapter DIR",
                .text = "Puts the adapters of a run (or those in a folder of PEFT's) into the "
                        "weights that they\n"
                        "stand beside, as these were before they were quantized, and writes a "
                        "folder that\n"
                        "transformers loads. Tells how far the answers on a probe move; merging "
                        "that would\n"
                        "change nothing is refused.",
                .flags = {{"--adapter", "DIR", "a folder of PEFT's, for BASE"},
                          {"--dtype", "TYPE",
                           "of the weights, fp32, bf16 or fp16; default: the base's own"},
                          {"--probe", "FILE", "a text to compare answers on; default: our own"},
                          kJsonFlag}}},
      {"ensemble",
       VerbHelp{.usage = "kedge ensemble MODEL MODEL ... [key=value ...]\n"
                         "       kedge ensemble SWEEP [--top K]",
                .text = "Measures trained models (run or checkpoint folders, or the best of a "
                        "sweep) one by one "
                        "and together:\nthe mean of their probabilities, and one model with the "
                        "mean of their "
                        "weights.",
                .flags = {{"--output", "FILE", "write the mean weights there (.safetensors)"},
                          {"--train", "", "measure on the training split instead"},
                          kJsonFlag}}},
      {"verify-resume",
       VerbHelp{
           .usage = "kedge verify-resume [CONFIG] [key=value ...]",
           .text = "Trains N steps, saves, and N more; then restores in a fresh process, trains "
                   "the second\n"
                   "N again, and compares weights, optimizer, schedule, random numbers, data "
                   "position and\n"
                   "metrics bit for bit. Exit 1, naming the first difference, when they are not "
                   "the same.",
           .flags =
               {kConfigFlag,
                {"--steps", "N", "steps before and after the save (20)"},
                {"--drop", "PIECE",
                 "forget a piece of the state on purpose, to see it noticed: position, schedule, "
                 "rng, loss_scaler, meters, optimizer, model, ema, best"},
                {"--worker", "STEP", "used by verify-resume itself: train to that step"},
                {"--restored-copy", "DIR", "used by verify-resume itself"},
                kJsonFlag}}},
      {"ckpt estimate",
       VerbHelp{.usage = "kedge ckpt estimate [CONFIG] [key=value ...]",
                .text = "How large this config's checkpoints will be, and how long a save takes on "
                        "the storage\n"
                        "at hand: the run folder, checkpoint.fast_dir, and what the flags name.",
                .flags = {kConfigFlag,
                          {"--to", "DIR", "also measure this folder"},
                          {"--speed", "SIZE",
                           "also reckon with storage that takes SIZE a second, e.g. 500MB"},
                          kJsonFlag}}},
  };
  const auto found = kHelps.find(verb);
  return found == kHelps.end() ? nullptr : &found->second;
}

}  // namespace kedge::cli
