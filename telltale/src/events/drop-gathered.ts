import { NOBODY, NONE, NOTHING } from '../kernel/grow.ts';
import { emptyNews } from './news.ts';
import { executedActions, type SessionState } from './state.ts';

/**
 * Lets go of what a session that is over has gathered, turn by turn; how it ended stays. Whoever keeps a session at hand
 * would keep all of its outputs. And a state that has become old in its session's life holds what came last until the old
 * generation is collected: with a hundred sessions at once, a quarter of what outlived a scavenge.
 */
export function dropGathered(state: SessionState): void {
  // A tool that kept its context may still ask for these: of 100 at most, and without what they brought.
  if (state.recent.length > 0) state.executed = executedActions(state);
  state.turns = NONE;
  state.news = emptyNews();
  state.actions = new Map();
  state.recent = NONE;
  state.open = NOBODY;
  state.outputs = NOTHING;
  state.called = NOTHING;
  state.feeds = NOTHING;
}
