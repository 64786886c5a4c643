import { turnsInOne } from '../../events/fold-turns.ts';
import { FRAME_MARK } from '../../kernel/call-frames.ts';
import type { SessionContext } from '../context.ts';
import { isTag } from './act.ts';
import type { Heard } from './hearing-state.ts';
import { createTurnParser } from './turn-parser.ts';

/**
 * The text of a turn without any tag or call, thoughts aside; undefined where it has one, or no text. What the model was
 * asked to go on with, since a restart or its provider broke it off, is one answer with it: half a text must not become a
 * result, nor what is left of a thought.
 */
export function bareText(context: SessionContext, { tagged, text }: Heard): string | undefined {
  if (tagged || !/\S/.test(text)) return undefined;
  const { turns } = context.state;
  let whole = '';
  for (const { output } of turns.slice(turns.length - turnsInOne(turns), -1)) {
    const part = plainText(context, output);
    if (part === undefined) return undefined;
    whole += part;
  }
  const said = withoutReasoning((whole + text).trim()); // behind a thought it begins on a line of its own
  return said === '' ? undefined : said;
}

/**
 * Where calls are native, models that were trained to reason in tags write these into their text. What they reason is no
 * part of the answer. A template may have opened the tag itself.
 */
const REASONING = /<(think|thinking|thought|reasoning)>[\s\S]*?<\/\1>\s*|[^<]*<\/(?:think|thinking)>\s*/y;

function withoutReasoning(text: string): string {
  let from = 0;
  for (;;) {
    REASONING.lastIndex = from;
    const found = REASONING.exec(text);
    if (found === null) return text.slice(from);
    from += found[0].length;
  }
}

function plainText(context: SessionContext, output: string): string | undefined {
  if (context.calls !== undefined) return output.includes(FRAME_MARK) ? undefined : output;
  const parser = createTurnParser(context, new Set());
  const events = [...parser.push(output), ...parser.end()];
  if (events.some(isTag)) return undefined;
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

/** Whether text alone answers, as things are: models of native calls and of chats answer so. */
export function isAnswer(context: SessionContext): boolean {
  const { manifest, state } = context;
  switch (manifest.protocol.bare_text) {
    case 'final':
      return true;
    case 'remind':
    case 'nudge':
      return wasReminded(context);
    case 'auto':
      if (manifest.dialect === 'step') return false;
      return manifest.dialect === 'tools' || state.chat === true || wasReminded(context);
  }
}

/** Whether the model was told at the beginning of the turn that text alone is no answer. */
function wasReminded({ state: { turns } }: SessionContext): boolean {
  return turns
    .slice(-turnsInOne(turns))
    .some(({ news }) => news.faults.some(({ code }) => code === 'no_tags'));
}
