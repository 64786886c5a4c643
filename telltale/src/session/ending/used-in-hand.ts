import type { ChildEventBody, SessionEvent } from '../../events/event.ts';
import type { SessionState } from '../../events/state.ts';
import type { Usage } from '../../events/turn-event.ts';
import { costOf, modelFacts } from '../../models/prices.ts';
import type { Store } from '../../store/store.ts';
import { childId } from '../children/child-id.ts';
import { copyOf } from '../children/copy-event.ts';
import { countUsage } from '../cost.ts';
import { readEventPage, readEvents } from '../read-session.ts';

/** What the turn that is open has used, for its `turn.failed`. */
export interface UsedInHand {
  readonly usage: Usage;
  readonly cost_usd: number;
}

/** Events that are read at a time, from the log's end: a turn has rarely more. */
const PAGE = 500;

/**
 * What the turn in hand has used as far as the log knows: what it was asked with, and what was heard of it. The price is
 * the model's by its name, since nobody who works on the session is there to ask. Undefined where no turn is open.
 */
export async function usedInHand(store: Store, state: SessionState): Promise<UsedInHand | undefined> {
  if (!state.turnOpen) return undefined;
  const usage = countUsage(state, await promptTokens(store, state));
  const price = modelFacts(state.model)?.price;
  return { usage, cost_usd: price === undefined ? 0 : costOf(price, usage) };
}

async function promptTokens(store: Store, { id, seq }: SessionState): Promise<number> {
  for (let behind = seq + 1; behind > 1; ) {
    const from = Math.max(1, behind - PAGE);
    const page = await readEventPage(store, id, from, behind - from);
    const begun = page.findLast((event) => event.type === 'turn.started');
    if (begun?.type === 'turn.started') return begun.prompt.tokens;
    behind = from;
  }
  return 0;
}

/** What sub-agents that a session waited for have used and its log does not have yet, with the events that say so. */
export async function usedBelow(
  store: Store,
  state: SessionState,
): Promise<readonly { readonly body: ChildEventBody; readonly of: SessionEvent }[]> {
  const used: { body: ChildEventBody; of: SessionEvent }[] = [];
  for (const action of state.open) {
    if (state.actions.get(action)?.action.kind !== 'agent') continue;
    const child = childId(state, action);
    if ((await store.info(child)) === undefined) continue;
    const cursor = state.children.find((each) => each.action === action);
    const seen = cursor?.session === child ? cursor.seq : 0;
    for (const event of await readEvents(store, child, seen + 1)) {
      const body = copyOf(event, action);
      if (body !== undefined && USES.has(body.type)) used.push({ body, of: event });
    }
  }
  return used;
}

const USES: ReadonlySet<string> = new Set<ChildEventBody['type']>([
  'child.turn.completed',
  'child.turn.failed',
  'child.usage',
]);
