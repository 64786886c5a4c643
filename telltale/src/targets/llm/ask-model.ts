import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Model, ModelUsage } from '../../models/model.ts';
import { modelEnd } from '../../models/model-errors.ts';
import { stopped } from '../access/stopped.ts';
import type { ChargedUsage, TargetCall } from '../target.ts';

const MAX_ANSWER_CHARS = 256 * 1024;
/** What a token is taken to be where a provider does not say how many there were. */
const CHARS_PER_TOKEN = 4;

interface Question {
  readonly what: string;
  readonly system: string;
  readonly message: string;
  readonly turn?: number | undefined;
}

/** One request and its whole answer. What it used is charged, also where it fails half-way. */
export async function askModel(
  model: Model,
  { what, system, message, turn = 1 }: Question,
  call: TargetCall,
): Promise<string> {
  if (call.signal.aborted) throw stopped(what, call.signal);
  const tooLong = new AbortController();
  const pieces: string[] = [];
  let chars = 0;
  let reasoned = 0;
  let usage: ModelUsage | undefined;
  let finish: 'stop' | 'length' = 'stop';
  let ended = false;
  try {
    const end = await model.stream(
      {
        system,
        messages: [{ role: 'user', text: message }],
        turn,
        signal: AbortSignal.any([call.signal, tooLong.signal]),
      },
      {
        text(delta) {
          chars += delta.length;
          if (chars > MAX_ANSWER_CHARS) tooLong.abort();
          else pieces.push(delta);
          if (chars <= MAX_ANSWER_CHARS) call.progress({ text: delta });
        },
        reasoning(delta) {
          reasoned += delta.length;
        },
      },
    );
    ({ usage, finish } = modelEnd(model.id, end));
    ended = true;
  } catch (thrown) {
    if (call.signal.aborted) throw stopped(what, call.signal);
    if (!tooLong.signal.aborted) throw thrown;
  } finally {
    // Nothing is owed for a request that failed before its first word.
    if (usage !== undefined || ended || chars + reasoned > 0)
      call.charge?.(usage ?? estimate(system.length + message.length, chars + reasoned), model);
  }
  if (tooLong.signal.aborted) throw tooMuch(what);
  if (finish === 'length') throw cutOff(what);
  return pieces.join('').trim();
}

export const noModel = (what: string) =>
  new RuntimeError('model_missing', `There is no model to ask for ${what}.`, {
    hint: 'Give the prompt or the agent a "model".',
  });

const estimate = (input: number, output: number): ChargedUsage => ({
  input: Math.ceil(input / CHARS_PER_TOKEN),
  output: Math.ceil(output / CHARS_PER_TOKEN),
  estimated: true,
});

const cutOff = (what: string) =>
  new RuntimeError(
    'bad_output',
    `The model's answer to ${what} was cut off: it came to its limit of tokens.`,
    {
      hint: 'Ask for a shorter answer, or about less at once.',
    },
  );

const tooMuch = (what: string) =>
  new RuntimeError(
    'output_too_large',
    `The model's answer to ${what} has more than ${MAX_ANSWER_CHARS} characters.`,
    {
      hint: 'Ask for a shorter answer.',
    },
  );
