import { isJsonObject, type Json } from '../../../src/lib/json.ts';
import type { Heard, SaidCall } from './words.ts';

/** What came of one act, as the prompt shows it. */
export interface Result {
  /** Turns of the model that stand before it in the prompt. */
  readonly turn: number;
  readonly id: string | undefined;
  readonly ok: boolean;
  readonly text: string;
}

/** What a policy goes by: the request, and nothing else. */
export interface View {
  readonly heard: Heard;
  /** All that others said, in its order: never what the model said itself. */
  readonly told: string;
  /** What came with this request: all that was said behind the model's last turn. */
  readonly news: string;
  readonly results: readonly Result[];
  /** The turn that is to be said now, from 1. */
  readonly turn: number;
  /** Whether an act of that key has succeeded; `shows` knows its result where the runtime chose the id. */
  did(key: string, shows?: RegExp): boolean;
}

/** An id that a mistake gave to an act, from a turn on. */
export interface Alias {
  readonly turn: number;
  readonly id: string;
  readonly key: string;
}

export function viewOf(heard: Heard, aliases: readonly Alias[]): View {
  const results: Result[] = [];
  const told: string[] = [];
  let news: string[] = [];
  const calls = new Map<string, SaidCall>();
  let turn = 0;
  for (const message of heard.messages) {
    if (message.by === 'model') {
      turn++;
      news = [];
      for (const call of message.calls) calls.set(call.id, call);
      continue;
    }
    told.push(message.text);
    news.push(message.text);
    const blocks = resultBlocks(message.text, turn);
    results.push(...blocks);
    if (message.by === 'tool' && blocks.length === 0)
      results.push({
        turn,
        id: runIdOf(calls.get(message.call)),
        ok: !message.failed && !LOOKS_FAILED.test(message.text),
        text: message.text,
      });
  }
  const keyOf = ({ id, turn: at }: Result): string | undefined =>
    id === undefined
      ? undefined
      : (aliases.findLast((alias) => alias.id === id && alias.turn <= at)?.key ?? id.replace(/_\d+$/, ''));
  return {
    heard,
    told: told.join('\n\n'),
    news: news.join('\n\n'),
    results,
    turn: turn + 1,
    did: (key, shows) =>
      results.some((each) => each.ok && (keyOf(each) === key || shows?.test(each.text) === true)),
  };
}

/** How errors begin, and what is said of calls that have not ended. */
const LOOKS_FAILED = /^(?:\{"error":|[a-z]+(?:_[a-z]+)+: |running\b|not run\b|skipped\b|It did not run)/;

const RESULT = /<result\b([^>]*)>([\s\S]*?)<\/result>/g;

function resultBlocks(text: string, turn: number): readonly Result[] {
  return Array.from(text.matchAll(RESULT), ([, attributes = '', body = '']) => ({
    turn,
    id: /\bid="([^"]*)"/.exec(attributes)?.[1],
    // The answer to a native call says only how it failed.
    ok: !/\bstatus="(?!ok")/.test(attributes),
    text: body,
  }));
}

function runIdOf(call: SaidCall | undefined): string | undefined {
  if (call === undefined) return undefined;
  const input = parsed(call.input);
  const run = isJsonObject(input) ? input._run : undefined;
  return isJsonObject(run) && typeof run.id === 'string' ? run.id : undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined; // a call that was not quite JSON stands in the history as it was
  }
}
