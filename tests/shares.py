"""Chooses which of many like tests run: all do with DEEP_TESTS=1, else a share of those that take longest.

A test is chosen by its name, so that a run anywhere chooses the same ones. With a share of 3, one of three tests of a
table of ops runs; of its two transformers one, in turn.
"""

from __future__ import annotations

import os
import re
import zlib
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent

DEEP = os.environ.get("DEEP_TESTS") == "1"

XLA_SHARE = 120
"""XLA takes long to compile: without DEEP_TESTS, one of these many tests that several transformers share runs on it."""

CPU_SHARES = dict.fromkeys((
    "test_first_and_second_derivatives", "test_derivatives_of_complex_numbers", "test_derivatives_in_every_type",
    "test_derivatives_with_symbols", "test_tangents_are_differences_and_transposed_gradients",
    "test_tangents_of_complex_numbers"), 8) | {"test_symbols_in_shapes": 6}
"""Tests of tests/conformance that the interpreter runs for all ops, and without DEEP_TESTS the cpu for one in these
many. A derivative is a graph like others.
"""

VALUES_ON_THE_CPU = ("FoldedPad", "If", "PrintOp", "While")
"""Ops whose values are always compared on the cpu: no other test of tests/conformance is chosen for them there."""

SHARES = {
    "bridges/torch/test_importing.py::test_any_result_moves_the_statistics_and_all_of_them_move_them_once": 2,
    "bridges/torch/test_importing.py::test_lengths_for_which_a_model_does_something_else_are_refused": 6,
    "bridges/torch/test_importing.py::test_what_is_no_tensor_stays_in_the_form_of_the_results": 4,
    "bridges/torch/test_models.py::test_results_gradients_and_statistics_are_those_of_eager": 3,
    "bridges/torch/test_recurrent.py::test_outputs_and_gradients_are_those_of_eager_mode": 4,
    "bridges/torch/test_resizing.py::test_results_and_gradients_are_those_of_pytorch": 4,
    "bridges/torch/test_rows.py::test_compiled_rows_give_what_pytorch_gives": 4,
    "bridges/torch/test_rows.py::test_rows_give_what_pytorch_gives": 8,
    "bridges/torch/test_training.py::test_losses_follow_eager_mode": 2,
    "conformance/test_derivatives.py::test_derivatives_in_every_type": 6,
    "conformance/test_derivatives.py::test_derivatives_of_complex_numbers": 6,
    "conformance/test_derivatives.py::test_first_and_second_derivatives": 8,
    "conformance/test_mapped.py": 18,
    "conformance/test_ops.py::test_empty_and_single": 12,
    "conformance/test_ops.py::test_lengths_around_vectors": 3,
    "conformance/test_ops.py::test_special_values": 5,
    "conformance/test_ops.py::test_values": 6,
    "conformance/test_ops.py::test_views_as_operands": 8,
    "conformance/test_scalar_table.py": 12,
    "conformance/test_symbolic.py::test_derivatives_with_symbols": 12,
    "conformance/test_symbolic.py::test_symbols_in_shapes": 15,
    "conformance/test_tangents.py": 20,
    "files/test_state_loading.py::test_any_order_of_definition_gives_each_path_its_own": 4,
    "front/test_bodies.py": 4,
    "front/test_boxes.py::test_boxes_that_stay": 2,
    "front/test_evaluation_order.py::test_operands_of_a_function_take_place_from_the_left": 10,
    "front/test_fourier_transforms.py::test_derivatives_are_differences": 2,
    "front/test_fourier_transforms.py::test_one_axis": 4,
    "front/test_fourier_transforms.py::test_several_axes": 4,
    "front/test_iterators.py::test_blocks_visit_what_plain_loops_visit": 6,
    "front/test_linalg.py::test_derivatives_are_differences": 6,
    "front/test_linalg_more.py::test_complex_derivatives_are_differences": 2,
    "front/test_linalg_more.py::test_derivatives": 3,
    "front/test_linalg_more.py::test_lu_gives_its_matrix_back": 3,
    "front/test_linalg_more.py::test_pseudo_inverses_of_equal_singular_values": 2,
    "front/test_numpy_functions.py::test_a_function_with_a_counterpart_builds_the_graph": 3,
    "front/test_places.py::test_derivatives": 2,
    "front/test_promotion.py::test_a_scalar_is_a_tensor_of_the_others_type": 6,
    "front/test_promotion.py::test_every_spelling_of_an_element_type": 4,
    "front/test_ranks.py::test_numbers_are_those_of_numpy": 4,
    "front/test_ranks.py::test_numbers_without_nan_are_those_of_numpy": 4,
    "front/test_reductions.py::test_what_sums_are_within_is_rounded_once": 6,
    "front/test_special_accuracy.py::test_samples_are_as_near_as_the_page_says": 4,
    "front/test_symbolic_lengths.py::test_symbols_do_what_numbers_do": 6,
    "front/test_vocabulary.py::test_derivatives": 2,
    "front/test_vocabulary.py::test_lengths_may_be_symbols_for_few_elements": 3,
    "front/test_vocabulary.py::test_numbers_are_those_of_numpy": 12,
    "functions/test_compositions.py": 8,
    "functions/test_loops_at_once.py::test_a_scan_of_all_elements": 2,
    "fuzz/test_fuzz.py::test_random_graphs": 4,
    "fuzz/test_fuzz.py::test_random_programs": 4,
    "kernel/test_lowered.py::test_lowered_kernels_are_valid": 4,
    "kernel/test_parser.py::test_random_kernels_are_read_back": 3,
    "kernel/test_plan.py::test_every_op_has_kernels_of_its_own": 3,
    "kernel/test_schedule.py::test_random_kernels_give_the_same_bits": 5,
    "kernel/test_schedule.py::test_rewritten_kernels_leave_the_same_bits": 5,
    "kernel/test_scheduled.py": 10,
    "kernel/test_stencils.py::test_squeezing_has_the_bits_of_its_parts": 4,
    "nn/test_losses.py::test_names_say_what_positions_do": 4,
    "nn/test_symbolic_batch.py": 10,
    "nn/test_torch.py": 10,
    "ops/test_special_functions.py::test_derivatives_are_those_of_differences": 4,
    "ops/test_special_functions.py::test_special_functions_are_those_of_mpmath": 8,
    "ops/test_special_functions.py::test_transformers_agree": 4,
    "optim/test_rules.py::test_decays_near_1_are_corrected": 2,
    "optim/test_rules.py::test_twenty_steps_are_those_of_pytorch": 2,
    "passes/test_algebra.py::test_conversions_through_a_wider_type": 4,
    "passes/test_convolution_kernels.py::"
    "test_an_element_that_is_not_finite_and_meets_padding_alone_gives_nan_or_nothing": 8,
    "passes/test_convolution_kernels.py::test_bits_of_a_chain_are_those_of_filters_that_a_call_brings": 4,
    "passes/test_convolution_kernels.py::test_no_convolution_is_left_to_python": 4,
    "passes/test_convolution_kernels.py::test_the_lowered_function_says_the_same": 8,
    "passes/test_convolution_kernels.py::test_windows_are_read_where_the_data_lie": 8,
    "passes/test_convolutions.py::test_a_convolution_by_hand_has_the_same_bits": 10,
    "passes/test_convolutions.py::test_all_members_of_the_form_in_one_function_have_their_bits": 10,
    "passes/test_convolutions.py::test_an_image_alone_has_the_bits_that_it_has_among_others": 10,
    "passes/test_convolutions.py::test_bits_are_those_of_the_rule": 10,
    "passes/test_convolutions.py::test_bits_do_not_depend_on_the_batch_nor_on_the_processor": 10,
    "passes/test_convolutions.py::test_bits_do_not_depend_on_whether_filters_stay": 10,
    "passes/test_convolutions.py::test_bits_of_transposed_convolutions_are_those_of_gradients_for_the_data": 10,
    "passes/test_convolutions.py::test_every_type_has_them": 10,
    "passes/test_convolutions.py::test_lengths_may_come_with_the_call": 10,
    "passes/test_convolutions.py::test_nor_do_those_of_the_gradient_for_the_data": 10,
    "passes/test_convolutions.py::test_there_may_be_no_image": 10,
    "passes/test_convolutions.py::test_variables_have_the_bits_of_arguments_after_each_change": 10,
    "passes/test_convolutions.py::test_what_follows_changes_no_bit_and_takes_no_kernel_of_its_own": 10,
    "passes/test_lower_windows.py::test_the_cpu_gives_the_same_and_does_not_depend_on_what_is_known": 2,
    "passes/test_padded_lengths.py::test_an_op_gives_the_same_in_longer_arrays_or_is_refused": 8,
    "project/test_bench.py::test_our_programs_are_right": 4,
    "project/test_mutations.py::test_mutants_of_the_package_parse_and_differ": 4,
    "random/test_distributions.py::test_continuous_distributions": 3,
    "random/test_distributions.py::test_whole_numbers": 2,
    "real_sizes/test_real_sizes.py::test_cases_that_were_wrong_once": 2,
    "real_sizes/test_real_sizes.py::test_images_with_channels_last": 2,
    "real_sizes/test_real_sizes.py::test_networks_at_real_sizes": 2,
    "real_sizes/test_real_sizes.py::test_stencils_that_are_reduced": 4,
    "real_sizes/test_real_sizes.py::test_weights_that_few_rows_read": 4,
    "support/test_elsewhere.py::test_a_name_of_nv": 4,
    "transformers/cpu/cache/test_executable_cache.py::test_a_warm_start_runs_no_pass_and_gives_the_same_bits": 3,
    "transformers/cpu/compile/test_codegen.py::test_a_read_with_a_condition_reads_nothing_where_it_is_false": 5,
    "transformers/cpu/compile/test_codegen.py::test_every_lane_has_private_memory": 5,
    "transformers/cpu/compile/test_codegen.py::test_every_type_goes_past_the_caches": 5,
    "transformers/cpu/compile/test_codegen.py::test_every_type_moves_at_every_step": 5,
    "transformers/cpu/compile/test_codegen.py::test_lanes_outside_of_a_mask_that_is_known_are_not_read": 5,
    "transformers/cpu/compile/test_codegen.py::test_loops_over_rows_inside_of_a_tile": 5,
    "transformers/cpu/compile/test_codegen.py::test_rows_of_every_type_are_interleaved": 5,
    "transformers/cpu/compile/test_codegen_random.py::test_random_kernels_leave_the_bits_that_they_mean": 2,
    "transformers/cpu/compile/test_codegen_reductions.py::test_every_width_gives_the_same_bits": 4,
    "transformers/cpu/compile/test_codegen_reductions.py::test_known_lengths_and_steps": 5,
    "transformers/cpu/compile/test_codegen_reductions.py::test_several_indices": 4,
    "transformers/cpu/compile/test_codegen_reductions.py::test_sums_over_rows": 6,
    "transformers/cpu/compile/test_codegen_reductions.py::test_totals_of_any_length": 5,
    "transformers/cpu/compile/test_codegen_reductions.py::test_what_one_reduction_leaves_for_another": 5,
    "transformers/cpu/compile/test_scalars.py::test_a_constant_on_the_right": 2,
    "transformers/cpu/compile/test_scalars.py::test_functions_are_those_of_the_interpreter": 3,
    "transformers/cpu/compile/test_scalars_conversions.py::test_convert": 4,
    "transformers/cpu/compile/tiles/test_byte_products.py::"
    "test_blocks_of_all_sizes_are_exact_and_nothing_else_is_touched": 2,
    "transformers/cpu/test_columns.py::test_totals_have_the_bits_that_they_have_alone": 5,
    "transformers/cpu/test_layouts.py::test_gaps_change_no_bit": 4,
    "transformers/cpu/test_long_products.py": 8,
    "transformers/cpu/test_math_accuracy.py::test_same_bits_on_every_width": 2,
    "transformers/cpu/test_math_bits.py::test_the_same_bits_in_numpy": 2,
    "transformers/cpu/test_nan.py::test_nan_through_functions": 2,
    "transformers/cpu/test_order.py::test_a_few_rows_of_all_kinds": 4,
    "transformers/cpu/test_order.py::test_a_sum_anywhere_is_the_sum_of_its_elements": 4,
    "transformers/cpu/test_order.py::test_what_it_is_fused_with_does_not_count": 4,
    "transformers/cpu/test_recurrent_sizes.py": 3,
    "transformers/cpu/test_shared_loops.py::test_attention_has_the_same_bits_in_shared_loops": 4,
    "transformers/cpu/test_shared_loops.py::"
    "test_derivatives_that_make_weights_again_have_the_same_bits_in_shared_loops": 2,
    "transformers/cpu/test_shared_loops.py::test_symbolic_lengths_share_loops_with_the_same_bits": 4,
    "transformers/cpu/test_short_rows.py::test_rows_with_a_scale_and_a_shift_for_each_column": 12,
    "transformers/test_initial_memory.py::test_a_value_that_can_be_drawn_again_is_kept_until_it_is_replaced": 2,
    "transformers/xla/test_executable.py::test_no_arithmetic_takes_the_place_of_other_arithmetic": 2,
    "transformers/xla/test_mesh_training.py": 3,
    "transformers/xla/test_meshes.py": 4,
    "wrong/test_fuzz.py": 20,
}
"""Files of many like tests, and such tests with many parameters, of which one in these many runs without DEEP_TESTS.
The row of a test goes before that of its file.
"""


def runs(item: pytest.Item) -> bool:
    """Whether a test runs: all do in a deep run, else a share of some, chosen by their names."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if parameters.get("transformer") == "xla" and parameters.get("name") in ("HostCall", "PrintOp"):
        return False  # they are left to the cpu
    share = 1 if DEEP else _share(item)
    return share == 1 or (zlib.crc32(_without_transformer(item).encode()) + _turn(parameters)) % share == 0


def _share(item: pytest.Item) -> int:
    """Returns the number of tests like this one of which one runs: 1 if all do."""
    parameters, name = getattr(getattr(item, "callspec", None), "params", {}), getattr(item, "originalname", None)
    runner = parameters.get("transformer", parameters.get("provider"))
    if runner == "xla":
        return XLA_SHARE
    if runner == "cpu" and name == "test_values" and parameters.get("name") in VALUES_ON_THE_CPU:
        return 1
    path, own = path_of(item.path), CPU_SHARES.get(str(name), 1) if runner == "cpu" else 1
    return max(own, SHARES.get(f"{path}::{name}", SHARES.get(path, 1)))


def _without_transformer(item: pytest.Item) -> str:
    """Returns the name that the tests of one op share: of two transformers one runs in a share of 2, not both or none.
    """
    return re.sub(r"\b(interpreter|cpu)\b", "", item.nodeid)


def _turn(parameters: dict[str, object]) -> int:
    return int("cpu" in (parameters.get("transformer"), parameters.get("provider")))


@cache
def path_of(path: Path) -> str:
    """Returns the path of a file of tests as ``SHARES`` has it."""
    return Path(os.path.relpath(path, HERE)).as_posix()
