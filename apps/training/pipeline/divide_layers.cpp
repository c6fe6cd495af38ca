#include "training/pipeline/divide_layers.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "training/pipeline/division_region.h"

namespace espalier::training {
namespace {

ElementRuns runs_of(const Shape& whole, const TensorDivision& division,
                    std::int32_t parts) {
  const Shape rest(whole.begin() + static_cast<std::ptrdiff_t>(division.axis),
                   whole.end());
  const std::int64_t stride = element_count(rest) / division.groups;
  return {0, stride / parts, stride};
}

class Divider {
 public:
  Divider(const OperatorGraph& whole, std::int32_t parts)
      : whole_(whole), parts_(parts), builder_(whole.operator_set()) {}

  DividedModel divide() {
    find_divisions();
    add_tensors();
    for (std::size_t i = 0; i < whole_.size(); ++i) add(operator_id(i));
    out_.model = std::move(builder_).build();
    return std::move(out_);
  }

 private:
  void find_divisions() {
    for (std::size_t i = 0; i < whole_.size(); ++i) {
      const auto layer = linear_layer(whole_, whole_.operators()[i]);
      if (!layer) continue;
      ++out_.products;
      if (!divisions_.contains(layer->x) && !divisions_.contains(layer->y))
        try_columns(*layer);
    }
    out_.divided_products = std::ssize(by_columns_) + std::ssize(by_rows_);
    if (by_columns_.empty())
      throw InvalidInput(fmt::format(
          "none of {} linear layers can be divided among {} processes: a pair of them is "
          "needed, with only operators on features or heads between, and as many "
          "features and heads as a multiple of {}",
          out_.products, parts_, parts_));
  }

  void try_columns(const LinearLayer& layer) {
    const std::size_t last = whole_.tensor(layer.y).shape.size() - 1;
    std::int64_t groups = 1;
    do {
      DivisionRegion region(whole_, parts_);
      if (region.grow(layer.y, {last, std::exchange(groups, 0)})) {
        divisions_.insert(region.divisions().begin(), region.divisions().end());
        by_columns_.insert(region.by_columns().begin(), region.by_columns().end());
        by_rows_.insert(region.by_rows().begin(), region.by_rows().end());
      }
      groups = region.wanted_groups();
    } while (groups > 1 && !divisions_.contains(layer.y));
  }

  // Those of the whole model, with its numbers.
  void add_tensors() {
    for (std::size_t t = 0; t < whole_.tensors().size(); ++t) {
      Tensor tensor = whole_.tensors()[t];
      const auto division = divisions_.find(tensor_id(t));
      if (division == divisions_.end()) {
        const Bytes bytes = tensor.bytes;
        (void)builder_.add_tensor(std::move(tensor), bytes);
        continue;
      }
      if (tensor.role != TensorRole::kComputed)
        out_.divided.emplace(tensor.name,
                             runs_of(tensor.shape, division->second, parts_));
      tensor.shape[division->second.axis] /= parts_;
      (void)builder_.add_tensor(std::move(tensor));
    }
  }

  void add(OperatorId id) {
    Operator op = whole_.op(id);
    for (OperatorId& each : op.after) each = here_[index(each)];
    if (op.type == "Dropout") divide_mask(id, op);
    if (op.type == "Split") drop_sizes(op);
    if (op.type == "Reshape") divide_target(op);
    if (by_columns_.contains(id)) op.inputs[0] = copy_of(*op.inputs[0]);
    here_.push_back(by_rows_.contains(id) ? add_by_rows(op) : emit(std::move(op)));
  }

  OperatorId emit(Operator op) { return builder_.add_operator(std::move(op)); }

  TensorId like(TensorId of, const char* suffix) {
    const Tensor& tensor = builder_.graph().tensor(of);
    return builder_.add_tensor(
        {.name = tensor.name + suffix, .type = tensor.type, .shape = tensor.shape});
  }

  TensorId copy_of(TensorId x) {
    const auto [place, is_new] = copies_.emplace(x, TensorId{});
    if (is_new) {
      place->second = like(x, "/group");
      const std::string name = builder_.graph().tensor(place->second).name;
      emit(
          {.name = name, .type = "GroupCopy", .inputs = {x}, .outputs = {place->second}});
    }
    return place->second;
  }

  // The bias comes to the sum.
  OperatorId add_by_rows(Operator op) {
    const TensorId y = *op.output(0), partial = like(y, "/partial");
    const auto bias = op.type == "Gemm" ? op.input(2) : std::nullopt;
    const std::string name = op.name;
    op.inputs.resize(2);
    op.outputs = {partial};
    emit(std::move(op));
    const TensorId sum = bias ? like(y, "/sum") : y;
    const OperatorId last = emit({.name = name + "/sum",
                                  .type = "GroupSum",
                                  .inputs = {partial},
                                  .outputs = {sum}});
    if (!bias) return last;
    return emit(
        {.name = name + "/bias", .type = "Add", .inputs = {sum, bias}, .outputs = {y}});
  }

  // The mask is that of the whole model at the places of this part.
  void divide_mask(OperatorId id, Operator& op) const {
    op.attributes["position"] = static_cast<std::int64_t>(index(id));
    const auto division = divisions_.find(*op.output(0));
    if (division == divisions_.end()) return;
    const ElementRuns runs =
        runs_of(whole_.tensor(*op.output(0)).shape, division->second, parts_);
    op.attributes["run"] = runs.run;
    op.attributes["stride"] = runs.stride;
  }

  // Equal parts need none.
  void drop_sizes(Operator& op) const {
    const auto division = divisions_.find(*op.output(0));
    if (division == divisions_.end()) return;
    const std::int64_t axis = op.integer("axis", 0);
    const auto rank = std::ssize(whole_.tensor(*op.output(0)).shape);
    if (division->second.axis != static_cast<std::size_t>(axis < 0 ? axis + rank : axis))
      return;
    op.inputs.resize(1);
    op.attributes.erase("split");
  }

  void divide_target(Operator& op) {
    const TensorId y = *op.output(0);
    if (!divisions_.contains(y)) return;
    const Shape shape = builder_.graph().tensor(y).shape;
    op.inputs.at(1) =
        builder_.add_tensor({.name = builder_.graph().tensor(y).name + "/shape",
                             .type = ElementType::kInt64,
                             .shape = {std::ssize(shape)},
                             .role = TensorRole::kConstant,
                             .kept = true,
                             .value = TensorValue::of(shape)});
  }

  const OperatorGraph& whole_;
  std::int32_t parts_;
  OperatorGraphBuilder builder_;
  DividedModel out_;
  std::unordered_map<TensorId, TensorDivision> divisions_;
  std::set<OperatorId> by_columns_, by_rows_;
  std::unordered_map<TensorId, TensorId> copies_;
  std::vector<OperatorId> here_;  // the last of those that an operator became
};

}  // namespace

bool is_group_operator(std::string_view type) {
  return type.starts_with("GroupCopy") || type.starts_with("GroupSum");
}

bool sums_over_group(std::string_view type) {
  return type == "GroupSum" || type == "GroupCopyGrad";
}

DividedModel divide_layers(const OperatorGraph& model, std::int32_t parts) {
  return Divider(model, parts).divide();
}

}  // namespace espalier::training
