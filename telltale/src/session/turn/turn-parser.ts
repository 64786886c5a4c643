import { saidBefore } from '../../prompt/calls/said-before.ts';
import type { CallParser } from '../../protocol/calls/call-parser.ts';
import { createDialectParser } from '../../protocol/dialect-parser.ts';
import type { TagParser } from '../../protocol/tags/tag-parser.ts';
import type { SessionContext } from '../context.ts';

/** The parser of the turn in hand, which has begun: where the model writes tags, the one of the turn before. */
export function takeTurnParser(context: SessionContext): TagParser | CallParser {
  const { spareParser } = context;
  if (spareParser !== undefined) {
    spareParser.renew();
    return spareParser;
  }
  const parser = createTurnParser(context, context.ids);
  if ('renew' in parser) context.spareParser = parser;
  return parser;
}

/** A parser of its own for the turn in hand. */
export function createTurnParser(
  { manifest, state, calls }: Pick<SessionContext, 'manifest' | 'state' | 'calls'>,
  ids: Set<string>,
): TagParser | CallParser {
  const { protocol, dialect } = manifest;
  if (calls === undefined)
    return createDialectParser('tags', {
      max_body: protocol.max_body.bytes,
      actions_in: protocol.actions_in,
      ids,
      ...(state.seal === undefined ? {} : { key: state.seal }),
    });
  return createDialectParser(dialect, {
    max_body: protocol.max_body.bytes,
    ids,
    names: calls.style.names,
    led: calls.style.led,
    before: saidBefore(state.turns, state.turns.length - 1),
  });
}
