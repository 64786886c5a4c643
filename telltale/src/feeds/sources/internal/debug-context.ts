import type { SessionState } from '../../../events/state.ts';
import type { Json } from '../../../kernel/json.ts';
import { clip } from '../../../manifest/schema/show-value.ts';

/** Of each kind of thing, so many are shown: the newest. */
const MAX_LISTED = 50;
const MAX_FAULTS = 10;
const MAX_TEXT = 200;

/** How a session stands, for whoever looks for what is wrong with it. */
export function debugContext(state: SessionState, now: number): Json {
  const { actions, open, variables, feeds, off, news, turns } = state;
  const faults = [...turns.slice(-MAX_FAULTS).flatMap((turn) => turn.news.faults), ...news.faults];
  return {
    turn: state.turn,
    open_actions: [...open].slice(-MAX_LISTED).map((id) => {
      const found = actions.get(id);
      if (found === undefined) return { id };
      const { action, status, attempts, turn } = found;
      return { id, type: action.kind, name: action.name, status, attempts, turn };
    }),
    variables: [...variables].slice(-MAX_LISTED).map(([name, variable]) => ({
      name,
      class: variable.class,
      by: variable.by,
      value: clip(JSON.stringify(variable.value), MAX_TEXT),
    })),
    faults: faults
      .slice(-MAX_FAULTS)
      .map(({ code, message }) => ({ code, message: clip(message, MAX_TEXT) })),
    feeds: [...feeds.values()].slice(-MAX_LISTED).map(({ id, last, failing, by }) => ({
      id,
      ...(by === undefined ? {} : { by }),
      ...(last === undefined
        ? {}
        : { tokens: last.tokens, age_ms: Math.max(0, now - last.loadedAt), turn: last.turn }),
      ...(failing === undefined
        ? {}
        : {
            failing: {
              code: failing.error.code,
              message: clip(failing.error.message, MAX_TEXT),
              times: failing.times,
            },
          }),
    })),
    off,
  };
}
