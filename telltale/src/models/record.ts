import type { Clock } from '../kernel/clock.ts';
import { RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import type { Model, ModelEnd, ModelRequest, ModelSink } from './model.ts';
import { MODEL_FAILURES, modelEnd, RECORD_FAILED } from './model-errors.ts';
import { formatScript } from './scripted/format-script.ts';
import { CHARACTERS_A_TOKEN, type Script, type ScriptTurn } from './scripted/script.ts';

export interface RecordOptions {
  readonly clock: Clock;
  /** Keeps the script in place of the one before. Called after each turn, one call at a time. */
  readonly write: (script: string) => Promise<void>;
  /** Asked once, before the first call of the model: what was recorded of the turns before it. */
  readonly before?: (turn: number) => Promise<Script | undefined>;
}

/**
 * The same model, whose turns are written down as a script that says them again: text, reasoning, pace, usage, and
 * where a turn failed. A turn is over when it is written. A turn that is asked for again replaces what it was.
 */
export function recordModel(model: Model, { clock, write, before }: RecordOptions): Model {
  const turns = new Map<number, ScriptTurn>();
  let begun: Promise<void> | undefined;
  let writing: Promise<void> = Promise.resolve();

  const begin = async (first: number) => {
    const script = await before?.(first);
    const from = script?.firstTurn ?? 1;
    for (const [index, turn] of (script?.turns ?? []).entries())
      if (from + index < first) turns.set(from + index, turn);
  };
  const keep = (number: number, turn: ScriptTurn): Promise<void> => {
    turns.set(number, turn);
    writing = writing
      .catch(() => {}) // reported to the turn it belongs to
      .then(() => write(formatScript(inOrder(turns), model.id)))
      .catch((thrown: unknown) => {
        throw recordFailed(thrown);
      });
    return writing;
  };

  return {
    ...model,
    async stream(request, sink) {
      begun ??= begin(request.turn).catch((thrown: unknown) => {
        throw recordFailed(thrown);
      });
      await begun;
      const { turn, end, error } = await listen(model, request, sink, clock);
      if (end === undefined) {
        const kept = keep(request.turn, turn);
        // A turn that the runtime has cut is as good as any: that it is missing from the file must not go unsaid.
        if (request.signal.aborted) await kept;
        // What the model failed with is worth more than that it could not be written down.
        else await kept.catch(() => {});
        throw error;
      }
      await keep(request.turn, turn);
      return end;
    },
  };
}

interface Heard {
  readonly turn: ScriptTurn;
  readonly end?: ModelEnd;
  readonly error?: unknown;
}

async function listen(model: Model, request: ModelRequest, sink: ModelSink, clock: Clock): Promise<Heard> {
  // Whoever listened before a restart wrote nothing down of it.
  const before = saidBefore(request);
  let text = '';
  let reasoning = '';
  const asked = clock.monotonic();
  let first: number | undefined;
  let last = asked;
  const note = () => {
    last = clock.monotonic();
    first ??= last;
  };
  const heard = (): ScriptTurn => ({
    text: before + text,
    ...(reasoning === '' ? {} : { reasoning }),
    ...pace(text.length + reasoning.length, asked, first ?? last, last),
  });
  try {
    const end = await model.stream(request, {
      text: (delta) => {
        note();
        text += delta;
        sink.text(delta);
      },
      reasoning: (delta) => {
        note();
        reasoning += delta;
        sink.reasoning(delta);
      },
      part: (part) => sink.part?.(part),
    });
    const { usage, finish } = modelEnd(model.id, end);
    const ending = { ...(usage === undefined ? {} : { usage }), ...(finish === 'stop' ? {} : { finish }) };
    return { turn: { ...heard(), ...ending }, end };
  } catch (error) {
    const { code } = toRuntimeError(error);
    const failWith = MODEL_FAILURES.find((failure) => failure === code && failure !== 'model_broke_off');
    const failing = {
      failAfter: before.length + text.length,
      ...(failWith === undefined ? {} : { failWith }),
    };
    return { turn: { ...heard(), ...failing }, error };
  }
}

/**
 * What the model has said in answer to the same request, before each restart: it stands at the end of the conversation, in
 * as many messages as there were restarts. Empty where these are not what was said, letter for letter: a call that broke
 * off is told as text.
 */
function saidBefore({ said = 0, messages }: ModelRequest): string {
  let before = '';
  for (let at = messages.length - 1; at >= 0 && before.length < said; at--) {
    const message = messages[at];
    if (message?.role === 'assistant') before = message.text + before;
  }
  return before.length === said ? before : '';
}

/** What comes in one piece, or at once, has no pace. */
function pace(characters: number, asked: number, first: number, last: number) {
  const delayMs = Math.round(first - asked);
  const seconds = (last - first) / 1000;
  const perSecond = Math.round((characters / CHARACTERS_A_TOKEN / seconds) * 10) / 10;
  return {
    ...(delayMs < 1 ? {} : { delayMs }),
    ...(seconds < 0.001 || perSecond === 0 ? {} : { tokensPerSecond: perSecond }),
  };
}

/** A turn between others that was never heard fails at once. */
const UNHEARD: ScriptTurn = { text: '', failAfter: 0 };

function inOrder(turns: ReadonlyMap<number, ScriptTurn>): Script {
  const numbers = [...turns.keys()].sort((a, b) => a - b);
  const first = numbers[0] ?? 1;
  const count = (numbers.at(-1) ?? 0) - first + 1;
  return {
    ...(first === 1 ? {} : { firstTurn: first }),
    turns: Array.from({ length: count }, (_, index) => turns.get(first + index) ?? UNHEARD),
  };
}

const recordFailed = (cause: unknown) =>
  new RuntimeError(
    RECORD_FAILED,
    `The model's turns cannot be written down: ${toRuntimeError(cause).message}`,
    {
      hint: 'Check the path, the permissions and the disk, or run without recording.',
      cause,
    },
  );
