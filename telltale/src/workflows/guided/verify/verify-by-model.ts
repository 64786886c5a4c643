import type { Usage } from '../../../events/turn-event.ts';
import { usageOf } from '../../../events/usage-of.ts';
import { sleep } from '../../../kernel/clock.ts';
import { RuntimeError, toRuntimeError } from '../../../kernel/runtime-error.ts';
import { stopWith } from '../../../kernel/stop-with.ts';
import { orStopped } from '../../../targets/access/stopped.ts';
import type { TargetCall } from '../../../targets/target.ts';
import type { LeafCall } from '../../leaf.ts';
import { noAgent, targetCall } from '../../steps/call-target.ts';
import type { LeafContext } from '../../steps/leaf-edges.ts';
import { stepWhat } from '../../steps/resolve-in-step.ts';
import { modelQuestion } from './model-question.ts';
import { CONFIDENCES, type ModelVerdict, readVerdict } from './read-verdict.ts';
import { type JudgedWork, type ModelVerifier, said, unjudged, type Verdict } from './verdict.ts';

/** For all tries together. */
const MODEL_MS = 120_000;
const MAX_TRIES = 3;
const FIRST_PAUSE_MS = 1_000;
/** What is asked where `verify` names no model: where the agent has none of that name, its own counts. */
const CHEAP = 'fast';

interface Spent {
  usage?: Usage;
  cost_usd?: number;
  model?: string;
}

/** A second model judges. Whatever is no clear verdict is for a person to settle, never a pass. */
export async function verifyByModel(
  verify: ModelVerifier,
  judged: JudgedWork,
  call: LeafCall,
  context: LeafContext,
): Promise<Verdict> {
  const spent: Spent = {};
  const { message, record } = modelQuestion(verify, judged);
  const asked = await answerOf(message, verify.model ?? CHEAP, spent, call, context);
  const by = `model ${verify.model ?? spent.model ?? CHEAP}`;
  const { usage, cost_usd } = spent;
  const charged = {
    ...(usage === undefined ? {} : { usage }),
    ...(cost_usd === undefined ? {} : { cost_usd }),
  };
  if (asked instanceof RuntimeError)
    return { ...unjudged(by, `${asked.message} (${asked.code})`), ...charged };
  const verdict = readVerdict(asked, record);
  if (!verdict.ok) return { ...unjudged(by, verdict.error), ...charged };
  return { by, ...weighed(verdict.value, verify.threshold), ...charged };
}

/** A pass that the verifier itself is not sure enough of is none. */
function weighed(
  { assessment, confidence, reasoning, instruction }: ModelVerdict,
  threshold: ModelVerifier['threshold'],
): Omit<Verdict, 'by'> {
  const why = said(reasoning);
  if (assessment === 'pass' && confidence !== undefined) {
    if (CONFIDENCES.indexOf(confidence) >= CONFIDENCES.indexOf(threshold))
      return { assessment, confidence, reasoning: why };
    return {
      assessment: 'retry',
      confidence,
      reasoning: why,
      instruction: said(instruction ?? `It is not sure enough that this is done: ${reasoning}`),
      fallback: `It passed with ${confidence} confidence; the threshold is ${threshold}.`,
    };
  }
  const told = assessment === 'retry' ? { instruction: said(instruction ?? reasoning) } : {};
  return { assessment, ...(confidence === undefined ? {} : { confidence }), reasoning: why, ...told };
}

/** What the model says, or why it said nothing. Rejects where the step is stopped. */
async function answerOf(
  message: string,
  model: string,
  spent: Spent,
  call: LeafCall,
  context: LeafContext,
): Promise<string | RuntimeError> {
  const what = `the verifier of ${stepWhat(call)}`;
  const late = new AbortController();
  const disarm = context.clock.after(MODEL_MS, () => stopWith(late, tooSlow(what)));
  const signal = AbortSignal.any([call.signal, late.signal]);
  const made = charging(targetCall({ ...call, signal }, noAgent, context), spent, context);
  try {
    for (let tried = 1; ; tried++) {
      try {
        // A provider that does not heed its signal must not hold the step.
        return await orStopped(context.ask({ what, message, model }, made), what, signal);
      } catch (thrown) {
        const error = toRuntimeError(thrown);
        if (signal.aborted || !error.retryable || tried === MAX_TRIES) throw error;
        await sleep(context.clock, FIRST_PAUSE_MS * 4 ** (tried - 1), signal);
      }
    }
  } catch (thrown) {
    call.signal.throwIfAborted();
    return toRuntimeError(thrown);
  } finally {
    disarm();
  }
}

/** The call, with what its tries use added up in `spent`. */
const charging = (made: TargetCall, spent: Spent, { costOf }: LeafContext): TargetCall => ({
  ...made,
  charge(used, model) {
    made.charge?.(used, model);
    const { input = 0, output = 0, cached, estimated = used.estimated } = spent.usage ?? {};
    const all = (cached ?? 0) + (used.cached ?? 0);
    spent.usage = {
      ...usageOf({ input: input + used.input, output: output + used.output, estimated }),
      ...(all === 0 ? {} : { cached: all }),
    };
    spent.cost_usd = (spent.cost_usd ?? 0) + costOf(used, model);
    spent.model = model.id;
  },
});

const tooSlow = (what: string) =>
  new RuntimeError('timeout', `The model gave ${what} no answer within ${MODEL_MS / 1000} s.`, {
    retryable: true,
  });
