// A builder for each kind of network: over 300 lines.

#pragma once

// Graphs like those of neural networks, for inference and for training: sizes in bytes as
// the layers would have, in units that keep the sums small.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/graph_builder.h"
#include "espalier/model/task_graph.h"

namespace espalier::support {

/// The forward operators of a network; graph() adds what training needs.
class Network {
 public:
  using Value = std::size_t;  ///< number of an activation

  Value input(Bytes size) {
    size_.push_back(size);
    return size_.size() - 1;
  }

  /// An operator with one result. `saves`: whether its gradient needs its inputs.
  Value op(std::vector<Value> inputs, Bytes size, Bytes weight = 0, Bytes workspace = 0,
           bool saves = true) {
    const Value out = input(size);
    ops_.push_back({std::move(inputs), out, weight, workspace, saves});
    return out;
  }

  [[nodiscard]] Bytes size(Value value) const { return size_[value]; }

  /// Weights are there from the start and stay. Inference: the activations nobody reads
  /// are results and are kept. Training: backwards through all operators, a gradient
  /// for each weight (kept, or consumed at once by an update with a workspace), gradients
  /// of values with several readers added up pair by pair.
  [[nodiscard]] TaskGraph graph(bool training, bool updates = false) const {
    return Emitter(*this, training, updates).graph();
  }

 private:
  struct Op {
    std::vector<Value> inputs;
    Value out;
    Bytes weight, workspace;
    bool saves;
  };

  class Emitter {
   public:
    Emitter(const Network& net, bool training, bool updates)
        : net_(net), updates_(updates), gradient_(net.size_.size()) {
      for (const Bytes size : net.size_) value_.push_back(builder_.add_datum("", size));
      std::vector<bool> is_read(net.size_.size(), false);
      for (const Op& op : net.ops_) {
        weight_.push_back(builder_.add_datum("", op.weight));
        builder_.keep(weight_.back());
        forward(op, weight_.back());
        for (const Value in : op.inputs) is_read[in] = true;
      }
      for (Value value = 0; value < is_read.size(); ++value) {
        if (is_read[value]) continue;
        if (training) {
          start_gradient(value);
        } else {
          builder_.keep(value_[value]);
        }
      }
      for (std::size_t k = net.ops_.size(); training && k-- > 0;) backward(k);
    }

    TaskGraph graph() { return std::move(builder_).build(); }

   private:
    void forward(const Op& op, DatumId weight) {
      const TaskId task = builder_.add_task("", op.workspace);
      for (const Value in : op.inputs) builder_.reads(task, value_[in]);
      builder_.reads(task, weight);
      builder_.writes(task, value_[op.out]);
      is_made_.resize(net_.size_.size(), false);
      is_made_[op.out] = true;
    }

    DatumId write(TaskId task, Bytes size) {
      const DatumId datum = builder_.add_datum("", size);
      builder_.writes(task, datum);
      return datum;
    }

    void start_gradient(Value value) {
      const TaskId loss = builder_.add_task("");
      builder_.reads(loss, value_[value]);
      gradient_[value] = write(loss, net_.size_[value]);
    }

    void add_gradient(Value value, DatumId part) {
      if (!gradient_[value]) {
        gradient_[value] = part;
        return;
      }
      const TaskId sum = builder_.add_task("");
      builder_.reads(sum, *gradient_[value]);
      builder_.reads(sum, part);
      gradient_[value] = write(sum, net_.size_[value]);
    }

    void backward(std::size_t k) {
      const Op& op = net_.ops_[k];
      const DatumId gradient = *gradient_[op.out];
      for (const Value in : op.inputs) {
        if (!is_made_[in]) continue;  // no gradient of the network's inputs
        const TaskId task = builder_.add_task("", op.workspace);
        builder_.reads(task, gradient);
        builder_.reads(task, weight_[k]);
        if (op.saves) read_saved(task, op, in);
        add_gradient(in, write(task, net_.size_[in]));
      }
      if (op.weight > 0) weight_gradient(op, k, gradient);
    }

    // With several inputs, the gradient of one needs the others; with one, it needs it.
    void read_saved(TaskId task, const Op& op, Value of) {
      for (const Value in : op.inputs) {
        if (in != of || op.inputs.size() == 1) builder_.reads(task, value_[in]);
      }
    }

    void weight_gradient(const Op& op, std::size_t k, DatumId gradient) {
      const TaskId task = builder_.add_task("", op.workspace);
      builder_.reads(task, gradient);
      for (const Value in : op.inputs) builder_.reads(task, value_[in]);
      const DatumId of_weight = write(task, op.weight);
      if (!updates_) {
        builder_.keep(of_weight);
        return;
      }
      const TaskId update = builder_.add_task("", op.weight);
      builder_.reads(update, of_weight);
      builder_.reads(update, weight_[k]);
    }

    const Network& net_;
    bool updates_;
    TaskGraphBuilder builder_;
    std::vector<DatumId> value_, weight_;
    std::vector<bool> is_made_;
    std::vector<std::optional<DatumId>> gradient_;
  };

  std::vector<Bytes> size_;  // by value
  std::vector<Op> ops_;
};

/// Convolution, normalisation, activation: three operators.
inline Network::Value conv(Network& net, Network::Value x, Bytes size, Bytes weight) {
  const auto a = net.op({x}, size, weight, size / 4);
  const auto b = net.op({a}, size, 1);
  return net.op({b}, size);
}

/// Stages of residual blocks: a bottleneck of three convolutions beside a shortcut.
inline Network residual_network(std::size_t blocks) {
  Network net;
  Bytes size = 4096, weight = 64;
  auto x = conv(net, net.input(1024), size, weight);
  for (std::size_t b = 0; b < blocks; ++b) {
    const bool narrows = b > 0 && b % 4 == 0 && size > 128;
    if (narrows) size /= 2, weight *= 4;
    auto y = conv(net, x, size / 4, weight);
    y = conv(net, y, size / 4, weight * 2);
    y = net.op({net.op({y}, size, weight, size / 4)}, size, 1);
    if (narrows || b == 0) x = net.op({net.op({x}, size, weight)}, size, 1);
    x = net.op({net.op({x, y}, size, 0, 0, false)}, size);
  }
  return net.op({net.op({x}, 16)}, 10, 512), net;
}

/// An encoder and a decoder with a skip connection at every level.
inline Network u_net(std::size_t levels, std::size_t convs) {
  Network net;
  std::vector<Network::Value> skips;
  Bytes size = Bytes{64} << levels, weight = 16;
  auto x = net.input(size / 16);
  for (std::size_t level = 0; level < levels; ++level) {
    for (std::size_t c = 0; c < convs; ++c) x = conv(net, x, size, weight);
    skips.push_back(x);
    x = net.op({x}, size / 4);
    size /= 2, weight *= 4;
  }
  for (std::size_t c = 0; c < convs; ++c) x = conv(net, x, size, weight);
  for (std::size_t level = levels; level-- > 0;) {
    size *= 2, weight /= 4;
    x = net.op({x}, size, weight);
    x = net.op({x, skips[level]}, 2 * size, 0, 0, false);
    for (std::size_t c = 0; c < convs; ++c) x = conv(net, x, size, weight);
  }
  return net.op({x}, size / 16, 8), net;
}

/// Blocks in which every layer reads all earlier ones.
inline Network dense_network(std::size_t blocks, std::size_t layers) {
  Network net;
  Bytes size = 512;
  auto x = conv(net, net.input(256), size, 64);
  for (std::size_t b = 0; b < blocks; ++b) {
    std::vector<Network::Value> all = {x};
    for (std::size_t l = 0; l < layers; ++l) {
      Bytes joined = 0;
      for (const auto value : all) joined += net.size(value);
      const auto wide = net.op(all, joined, 0, 0, false);
      all.push_back(conv(net, wide, size / 4, joined / 8));
    }
    Bytes joined = 0;
    for (const auto value : all) joined += net.size(value);
    size = std::max<Bytes>(32, size / 2);
    x = conv(net, net.op(all, joined, 0, 0, false), size, joined / 4);
  }
  return net;
}

/// Encoder layers: queries, keys and values, heads side by side, two shortcuts.
inline Network transformer(std::size_t layers, std::size_t heads) {
  Network net;
  const Bytes size = 1024, weight = 768;
  const auto per_head = size / static_cast<Bytes>(heads);
  auto x = net.op({net.input(64)}, size, 4096);
  for (std::size_t l = 0; l < layers; ++l) {
    const auto normal = net.op({x}, size, 2);
    std::vector<Network::Value> results;
    for (std::size_t h = 0; h < heads; ++h) {
      const auto share = weight / static_cast<Bytes>(heads);
      const auto q = net.op({normal}, per_head, share);
      const auto k = net.op({normal}, per_head, share);
      const auto v = net.op({normal}, per_head, share);
      const auto scores = net.op({q, k}, 512);
      const auto shares = net.op({scores}, 512);
      results.push_back(net.op({shares, v}, per_head));
    }
    const auto joined = net.op(results, size, 0, 0, false);
    x = net.op({x, net.op({joined}, size, weight)}, size, 0, 0, false);
    const auto second = net.op({x}, size, 2);
    const auto wide = net.op({net.op({second}, 4 * size, 4 * weight)}, 4 * size);
    x = net.op({x, net.op({wide}, size, 4 * weight)}, size, 0, 0, false);
  }
  return net.op({x}, 256, 4096), net;
}

/// Modules of parallel branches of different depth, joined.
inline Network inception(std::size_t modules) {
  Network net;
  auto x = conv(net, net.input(512), 2048, 64);
  for (std::size_t m = 0; m < modules; ++m) {
    const Bytes size = 256 + 64 * static_cast<Bytes>(m % 4);
    std::vector<Network::Value> ends = {conv(net, x, size, 64)};
    ends.push_back(conv(net, conv(net, x, size / 2, 48), size, 96));
    ends.push_back(
        conv(net, conv(net, conv(net, x, size / 3, 32), size / 2, 64), size, 128));
    ends.push_back(conv(net, net.op({x}, net.size(x)), size, 32));
    Bytes joined = 0;
    for (const auto value : ends) joined += net.size(value);
    x = net.op(ends, joined, 0, 0, false);
  }
  return net.op({net.op({x}, 64)}, 10, 256), net;
}

/// Random cells as architecture searches find them: each node adds two earlier ones.
inline Network cell_network(std::size_t cells, std::size_t nodes, std::uint32_t seed) {
  Network net;
  std::mt19937 random(seed);
  auto before = conv(net, net.input(256), 1024, 32), last = conv(net, before, 1024, 32);
  for (std::size_t c = 0; c < cells; ++c) {
    std::vector<Network::Value> values = {net.op({before}, 512, 64),
                                          net.op({last}, 512, 64)};
    for (std::size_t n = 0; n < nodes; ++n) {
      std::uniform_int_distribution<std::size_t> pick(0, values.size() - 1);
      const auto a = conv(net, values[pick(random)], 512, 48);
      const auto b = conv(net, values[pick(random)], 512, 48);
      values.push_back(net.op({a, b}, 512, 0, 0, false));
    }
    Bytes joined = 512 * static_cast<Bytes>(nodes);
    values.erase(values.begin(), values.begin() + 2);
    before = last;
    last = net.op(values, joined, 0, 0, false);
  }
  return net.op({net.op({last}, 64)}, 10, 256), net;
}

struct NamedNetwork {
  std::string name;
  std::function<Network()> make;
};

inline const std::vector<NamedNetwork>& networks() {
  static const std::vector<NamedNetwork> all = {
      {"Residual16", [] { return residual_network(16); }},
      {"Residual50", [] { return residual_network(50); }},
      {"UNet", [] { return u_net(5, 2); }},
      {"Dense", [] { return dense_network(4, 8); }},
      {"Inception", [] { return inception(11); }},
      {"Transformer12x1", [] { return transformer(12, 1); }},
      {"Transformer24x1", [] { return transformer(24, 1); }},
      {"Transformer12x4", [] { return transformer(12, 4); }},
      {"Transformer12x12", [] { return transformer(12, 12); }},
      {"Cells8", [] { return cell_network(8, 5, 1); }},
      {"Cells18", [] { return cell_network(18, 5, 2); }}};
  return all;
}

}  // namespace espalier::support
