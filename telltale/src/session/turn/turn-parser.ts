import { saidBefore } from '../../prompt/calls/said-before.ts';
import type { CallParser } from '../../protocol/calls/call-parser.ts';
import { createDialectParser } from '../../protocol/dialect-parser.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import {
  createSharedTagParser,
  type SharedTagParser,
  type TagParser,
} from '../../protocol/tags/tag-parser.ts';
import type { SessionContext } from '../context.ts';
import { type Inside, OUTSIDE } from './inside.ts';

export type Told = Pick<SessionContext, 'manifest' | 'state' | 'calls'>;

/** The parser of the turn in hand, which has begun: where the model writes tags, the one of the turn before. */
export function takeTurnParser(context: SessionContext, inside: Inside): TagParser | CallParser {
  const { spareParser } = context;
  if (spareParser !== undefined && inside === OUTSIDE) {
    spareParser.renew();
    return spareParser;
  }
  const parser = createTurnParser(context, context.ids, inside);
  if ('renew' in parser) context.spareParser = parser;
  return parser;
}

/** A parser of its own for the turn in hand. */
export function createTurnParser(
  context: Told,
  ids: Set<string>,
  inside: Inside,
): SharedTagParser | CallParser {
  const { manifest, state, calls } = context;
  if (calls === undefined) return createTagTurnParser(context, ids, inside);
  return createDialectParser(manifest.dialect, {
    max_body: manifest.protocol.max_body.bytes,
    ids,
    names: calls.style.names,
    led: calls.style.led,
    before: saidBefore(state.turns, state.turns.length - 1),
  });
}

/** The same for a model that writes tags. */
export function createTagTurnParser(context: Told, ids: Set<string>, inside: Inside): SharedTagParser {
  const { manifest, state } = context;
  const { max_body, actions_in } = manifest.protocol;
  const goesOn = inside !== OUTSIDE;
  // One literal: spreads of options that are mostly absent the engine compiled and gave up again without end.
  return createSharedTagParser({
    max_body: max_body.bytes,
    actions_in,
    ids,
    key: state.seal,
    inside: goesOn ? inside.elements : undefined,
    book: inside.book,
    doubt: goesOn && inside.doubt,
  });
}

/** The text so far is all there is: a closing tag that ends a line of code there counts, as at the end of a stream. */
export const endLine = (parser: SharedTagParser): ParserEvent[] =>
  parser.unfinished().line ? parser.push('\n') : [];
