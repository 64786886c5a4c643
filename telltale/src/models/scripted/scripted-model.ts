import { type Clock, createSystemClock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Model, ModelEnd, ModelRequest, ModelSink } from '../model.ts';
import { modelCancelled, modelFailed } from '../model-errors.ts';
import { expectPrompt, nameOfTurn } from './expect-prompt.ts';
import { type Pour, pour, wait } from './pour.ts';
import { restOfTurn } from './rest-of-turn.ts';
import { DEFAULT_CHUNK, type Script, type ScriptTurn, turnText } from './script.ts';

export interface ScriptedModelOptions extends Omit<Script, 'turns'> {
  /** `scripted` by default. */
  readonly id?: string;
  readonly turns: readonly (string | ScriptTurn)[];
  /** Only used if a turn has a pace or a delay. The system clock by default. */
  readonly clock?: Clock;
}

const FREE = { input: 0, output: 0 };

/**
 * A model that plays a script: turn N of a session is entry N. After a restart, it continues with the rest of that
 * turn. It keeps no state between calls, so any number of sessions can share it. The sink is never called before
 * `stream` has returned.
 */
export function createScriptedModel(options: ScriptedModelOptions): Model {
  const { id = 'scripted', clock = createSystemClock(), contextWindow } = options;
  const turns = options.turns.map((turn): ScriptTurn => (typeof turn === 'string' ? { text: turn } : turn));
  return {
    id,
    price: FREE,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    async stream(request, sink) {
      await undefined;
      const turn = turnFor(request.turn, turns, options, id);
      const unmet =
        turn.expect === undefined || isGoingOn(request)
          ? undefined
          : expectPrompt(turn.expect, request.messages, nameOfTurn(request.turn, turn, id));
      if (unmet !== undefined) throw unmet;
      if (!(await play(turn, request, sink, options, clock))) throw modelCancelled(id);
      return endOf(turn, request.turn, id);
    },
  };
}

function turnFor(
  asked: number,
  turns: readonly ScriptTurn[],
  { firstTurn = 1, loop = false }: Pick<Script, 'firstTurn' | 'loop'>,
  id: string,
): ScriptTurn {
  const index = asked - firstTurn;
  const turn = turns[loop && index >= 0 && turns.length > 0 ? index % turns.length : index];
  if (turn === undefined) throw scriptEnded(id, asked, firstTurn, turns.length);
  return turn;
}

/** Whether a part of the turn was output before a restart. Its prompt was checked then. */
const isGoingOn = ({ said = 0 }: ModelRequest): boolean => said > 0;

/** Resolves with false if it was aborted. */
async function play(
  turn: ScriptTurn,
  request: ModelRequest,
  sink: ModelSink,
  script: Omit<Script, 'turns'>,
  clock: Clock,
): Promise<boolean> {
  const { signal } = request;
  const isFresh = !isGoingOn(request);
  if (isFresh && turn.delayMs !== undefined && !(await wait(turn.delayMs, clock, signal))) return false;
  const common: Omit<Pour, 'text' | 'push'> = {
    chunk: turn.chunk ?? script.chunk ?? DEFAULT_CHUNK,
    tokensPerSecond: turn.tokensPerSecond ?? script.tokensPerSecond,
    clock,
    signal,
  };
  if (isFresh && turn.reasoning !== undefined) {
    const reasoned = await pour({ ...common, text: turn.reasoning, push: (delta) => sink.reasoning(delta) });
    if (!reasoned) return false;
  }
  return pour({ ...common, text: stillToSay(turn, request), push: (delta) => sink.text(delta) });
}

function stillToSay(turn: ScriptTurn, { turn: number, said = 0, saidParts = [said] }: ModelRequest): string {
  const text = turnText(turn, number).slice(0, turn.failAfter);
  return saidParts.reduce(restOfTurn, text);
}

function endOf(turn: ScriptTurn, number: number, id: string): ModelEnd {
  if (turn.failAfter !== undefined) throw scriptedFailure(turn, turn.failAfter, nameOfTurn(number, turn, id));
  const { finish = 'stop', usage } = turn;
  return usage === undefined ? { finish } : { finish, usage };
}

const scriptedFailure = ({ failWith = 'model_broke_off' }: ScriptTurn, after: number, turn: string) =>
  modelFailed(failWith, `The script's ${turn} fails after ${after} characters, as scripted.`);

function scriptEnded(id: string, asked: number, firstTurn: number, count: number) {
  const script = id === 'scripted' ? 'The script' : `The script ${id.replace(/^scripted:/, '')}`;
  const needs = `but the session needs turn ${asked}.`;
  if (asked < firstTurn)
    return new RuntimeError('script_ended', `${script} starts with turn ${firstTurn}, ${needs}`, {
      hint: `Set "first_turn: ${asked}", or add the turns before turn ${firstTurn}.`,
    });
  const turns = `${count} ${count === 1 ? 'turn' : 'turns'}${firstTurn === 1 ? '' : `, from turn ${firstTurn} on`}`;
  return new RuntimeError('script_ended', `${script} has ${turns}, ${needs}`, {
    hint:
      count === 0
        ? `Add turn ${asked} to it.`
        : `Add turn ${asked} to it, end turn ${firstTurn + count - 1} with a final response, or set "loop: true".`,
  });
}
