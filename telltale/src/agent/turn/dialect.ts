import type { CallParser } from '../../parser/calls/call-parser.ts';
import { createDialectParser } from '../../parser/dialect-parser.ts';
import type { EarlierIds } from '../../parser/envelope/ids.ts';
import { createSharedTagParser, type TagParser } from '../../parser/tags/tag-parser.ts';
import type { SessionContext } from '../session-context.ts';

type DialectTold = Pick<SessionContext, 'manifest' | 'state' | 'calls'>;

/** The parser of the turn in hand, which has begun: where the model writes tags, the one of the turn before. */
export function takeTurnParser(context: SessionContext): TagParser | CallParser {
  const { spareParser } = context;
  if (spareParser !== undefined) {
    spareParser.renew();
    return spareParser;
  }
  const parser = createTurnParser(context, context.earlier);
  if ('renew' in parser) context.spareParser = parser;
  return parser;
}

/** A parser of its own for the turn in hand. What it takes for duplicate ids are those of the turn. */
export function createTurnParser(context: DialectTold, earlier: EarlierIds): TagParser | CallParser {
  const { manifest, state, calls } = context;
  const { max_body, actions_in } = manifest.protocol;
  // One literal: spreads of options that are mostly absent the engine compiled and gave up again without end.
  if (calls === undefined)
    return createSharedTagParser({ max_body: max_body.bytes, actions_in, earlier, key: state.seal });
  return createDialectParser(manifest.dialect, {
    max_body: max_body.bytes,
    earlier,
    names: calls.style.names,
    led: calls.style.led,
  });
}
