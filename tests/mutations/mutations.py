"""Faults to put in: (file, wording before, wording after, suites that are to see it, the quickest first)."""

UNIT = ["unit"]
TRAINER = ["unit [trainer],[booking]", "unit"]
T, R, S = "src/train/", "src/record/", "src/study/"

MUTATIONS = [
    # What a step computes.
    (T + "trainer.cpp", "sampler_.step_samples(step - 1));\n    // Only", "plan_.global_batch);\n    // Only", TRAINER),
    (T + "trainer.cpp", "const double rate = rate_of(step);", "const double rate = rate_of(step + 1);", TRAINER),
    (T + "trainer.cpp", "position_.epochs, step - 1, plan_", "0, step - 1, plan_", TRAINER),
    (T + "trainer.cpp", "if (bucket.begin >= parameters) continue;", "if (i > 0) continue;", TRAINER),
    (T + "trainer.cpp", "replica.update_running_statistics(sums.samples);", "", TRAINER),
    (T + "trainer.cpp", "    replica.parameters_changed();\n", "", TRAINER),
    (T + "trainer.cpp", "sampler_.set_epoch(position_.epochs);", "sampler_.set_epoch(0);", TRAINER),
    (T + "trainer.cpp", "{config.momentum, config.weight_decay, config.nesterov}", "{config.momentum, 0, config.nesterov}",
     TRAINER),
    (T + "trainer.cpp", "{config.momentum, config.weight_decay, config.nesterov}", "{config.momentum, config.weight_decay}",
     TRAINER),
    (T + "gradient_accumulator.hpp", "device_.copy(arena, slot(0));", "device_.add(arena, slot(0));", TRAINER),
    ("include/rueda/kernels/sgd.hpp", "gradient + s.weight_decay * value", "gradient - s.weight_decay * value", TRAINER),
    ("include/rueda/kernels/sgd.hpp", "s.nesterov ? g +", "s.nesterov ? gradient +", TRAINER),
    ("include/rueda/kernels/softmax_loss.hpp", "(k == label ? 1.0F : 0.0F)) * scale", "(k == label ? 1.0F : 0.0F))", UNIT),
    ("include/rueda/kernels/statistics.hpp", "m > 1.0F ? m / (m - 1.0F) : 1.0F", "1.0F", TRAINER),
    ("include/rueda/kernels/statistics.hpp", "(weighted_sum / samples)", "weighted_sum", TRAINER),
    ("include/rueda/kernels/pixel.hpp", "a.flip ? kSide - 1 - x : x", "x", UNIT),
    ("src/optim/schedule.cpp", "(now + 1.0) / std::ceil(warmup)", "now / std::ceil(warmup)", UNIT),
    ("src/optim/schedule.cpp", "(now - warmup) / (steps - warmup)", "now / steps", UNIT),
    (T + "run_plan.cpp", "/ static_cast<double>(config.base_batch)", "/ static_cast<double>(global_batch)", UNIT),
    # What an evaluation means.
    (T + "evaluator.hpp", "    transform_.augment = false;\n", "", TRAINER),
    (T + "evaluator.hpp", "|| epoch == config_.epochs", "", TRAINER),
    (T + "evaluator.hpp", "static_cast<double>(end - begin)};", "1};", TRAINER),
    (T + "evaluator.hpp", "begin < plan_.share.end;", "begin + plan_.batch < plan_.share.end;", TRAINER),
    # What an epoch means.
    (T + "trainer.cpp", "position_.so_far.samples / record.seconds", "position_.so_far.samples * record.seconds", TRAINER),
    (T + "trainer.cpp", "                 .so_far = {},\n", "                 .so_far = position_.so_far,\n", TRAINER),
    (T + "trainer.cpp", "record.learning_rate = rate_of(record.steps);", "record.learning_rate = rate_of(1);", TRAINER),
    (T + "trainer.cpp", "record.seconds + (record.test ? record.test->seconds : 0.0)", "record.seconds", TRAINER),
    (T + "trainer.cpp", "    recorder_.gather(run, record);\n",
     "    recorder_.gather(run, record);\n  record.seconds = seconds_so_far();\n", TRAINER),
    (T + "trainer.cpp", "    paused_ += pause.seconds();\n", "", TRAINER + ["cli checkpoint"]),
    (T + "step_recorder.cpp", "step.train_loss = static_cast<double>(sums.loss) / samples;",
     "step.train_loss = static_cast<double>(sums.loss);", TRAINER),
    (T + "step_recorder.cpp", "static_cast<double>(sums.correct) / samples", "static_cast<double>(sums.loss) / samples", TRAINER),
    # Whose time is whose.
    (T + "step_recorder.cpp", "book(Phase::forward, seconds.forward);", "book(Phase::forward, seconds.backward);", TRAINER),
    (T + "step_recorder.cpp", "book(Phase::backward, seconds.backward);", "book(Phase::backward, seconds.forward);", TRAINER),
    (T + "trainer.cpp", "      timer().enter(Phase::optimizer);\n", "", TRAINER),
    (T + "trainer.cpp", "      timer().enter(Phase::all_reduce);\n", "", TRAINER + ["cli overlap"]),
    (T + "step_recorder.cpp", "step.all_reduce_busy += bucket.transfer + bucket.add;",
     "step.all_reduce_busy += bucket.transfer;", UNIT + ["cli overlap"]),
    (T + "step_recorder.cpp", "step.all_reduce_add += bucket.add;", "step.all_reduce_add = bucket.add;",
     UNIT + ["cli overlap"]),
    (T + "run_record.cpp", "most = std::max(most, rank.at(step).*member);", "most = rank.at(step).*member;", UNIT),
    (T + "run_record.cpp", ".wait = s.all_reduce_wait,", ".wait = s.all_reduce_add,", UNIT),
    # What the tables say.
    (R + "statistics.cpp", "algbw * 2 * (p - 1) / p", "algbw * (p - 1) / p", UNIT),
    (R + "statistics.cpp", "quantile_of_sorted(sorted, 0.9)", "quantile_of_sorted(sorted, 0.95)", UNIT),
    (R + "statistics.cpp", "static_cast<double>(sorted.size() - 1)", "static_cast<double>(sorted.size())", UNIT),
    (R + "aggregation.cpp", "return s.busy - s.wait - s.add;", "return s.busy - s.wait;", UNIT),
    (R + "aggregation.cpp", "s.seconds - s.phases[static_cast<std::size_t>(Phase::all_reduce)]", "s.seconds", UNIT),
    (R + "aggregation.cpp", "longest = std::max(longest, total(rank))", "longest = total(rank)", UNIT),
    (R + "aggregation.cpp", "return i == 0 || epochs[i].resumed_at_step;", "return i == 0;", UNIT),
    (R + "aggregation.cpp", "over([](const BucketRecord& r) { return r.begin - r.ready; })",
     "over([](const BucketRecord& r) { return r.end - r.ready; })", UNIT),
    # What a study says.
    (S + "figures.cpp", "2 * (ranks - 1) / ranks * c.bytes_per_step", "(ranks - 1) / ranks * c.bytes_per_step", UNIT),
    (S + "figures.cpp", "base.epoch.value * double(base.ranks) / ranks;", "base.epoch.value / ranks;", UNIT),
    (S + "figures.cpp", "result.phases[kAllReduce] * c.wait / c.measured", "c.wait", UNIT),
    (S + "figures.cpp", "double(point.ranks) * point.epoch.value", "point.epoch.value", UNIT),
    (S + "observation.cpp", "if (option.timing != Timing::variant) continue;", "continue;", UNIT),
    # The sum itself.
    (T + "gradient_reducer.cpp", ".exactly = index > 0 &&", ".exactly = false &&", ["mpi 2", "unit", "cli overlap"]),
    (T + "gradient_reducer.cpp", "announced && parts_.overlaps", "parts_.overlaps", ["unit [sync]", "cli overlap"]),
    ("mpi/sums/ring_all_reduce.cpp", "plan.chunk(plan.gather_send(step))", "plan.chunk(plan.gather_receive(step))", ["mpi 3"]),
]
