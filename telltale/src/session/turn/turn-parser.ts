import { NONE } from '../../kernel/grow.ts';
import { saidBefore } from '../../prompt/calls/said-before.ts';
import type { CallParser } from '../../protocol/calls/call-parser.ts';
import { createDialectParser } from '../../protocol/dialect-parser.ts';
import { type OpenIf, openIfs } from '../../protocol/tags/open-ifs.ts';
import type { TagParser } from '../../protocol/tags/tag-parser.ts';
import type { SessionContext } from '../context.ts';

type Told = Pick<SessionContext, 'manifest' | 'state' | 'calls'>;

/**
 * The `<if>`s that the turn in hand, which has begun, goes on inside of: those that were open where the turn before it was
 * cut short. The log ends in no branch that does not hold: all of these do.
 */
export function insideOf(context: Told): readonly OpenIf[] {
  const { state, calls } = context;
  const before = calls === undefined ? saidBefore(state.turns, state.turns.length - 1) : '';
  if (before === '') return NONE;
  return openIfs(createDialectParser('tags', tagOptions(context, new Set())).push(before));
}

/** The parser of the turn in hand, which has begun: where the model writes tags, the one of the turn before. */
export function takeTurnParser(context: SessionContext, inside: readonly OpenIf[]): TagParser | CallParser {
  const { spareParser } = context;
  if (spareParser !== undefined && inside.length === 0) {
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
  inside: readonly OpenIf[],
): TagParser | CallParser {
  const { manifest, state, calls } = context;
  if (calls === undefined)
    return createDialectParser('tags', {
      ...tagOptions(context, ids),
      ...(inside.length === 0 ? {} : { inside }),
    });
  return createDialectParser(manifest.dialect, {
    max_body: manifest.protocol.max_body.bytes,
    ids,
    names: calls.style.names,
    led: calls.style.led,
    before: saidBefore(state.turns, state.turns.length - 1),
  });
}

const tagOptions = ({ manifest: { protocol }, state }: Told, ids: Set<string>) => ({
  max_body: protocol.max_body.bytes,
  actions_in: protocol.actions_in,
  ids,
  ...(state.seal === undefined ? {} : { key: state.seal }),
});
