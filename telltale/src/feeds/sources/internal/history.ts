import type { SessionState } from '../../../events/state.ts';
import type { Json } from '../../../kernel/json.ts';
import { clip } from '../../../manifest/schema/show-value.ts';

const DEFAULT_TURNS = 5;
/** Characters of each message, and of what the model said in a turn. */
const MAX_TEXT = 4_000;
const MAX_MESSAGES = 20;

/** The last turns: what the model was told by people, and what it said. */
export const historyOf = ({ turns }: SessionState, count = DEFAULT_TURNS): Json =>
  turns.slice(-count).map(({ turn, news, output }) => ({
    turn,
    told: news.messages.slice(-MAX_MESSAGES).map(({ from, text }) => ({ from, text: clip(text, MAX_TEXT) })),
    said: clip(output, MAX_TEXT),
  }));
