import type { EventOf } from '../../../../../telltale/src/events/event.ts';
import { quoted } from './brief-value.ts';

const MESSAGE: Readonly<Record<EventOf<'message.received'>['from'], string>> = {
  user: 'you said',
  steer: 'somebody steered:',
  parent: 'the calling agent said',
  workflow: 'a workflow said',
  runtime: 'the runtime told the model',
  verifier: 'the verifier said',
};

/** How a session began. */
export function startClause({ input, parent, forked, agent }: EventOf<'session.started'>): string {
  if (forked !== undefined)
    return `the session was forked from ${forked.session} at event ${forked.seq}: ${quoted(input)}`;
  const who = parent === undefined ? 'your message' : `the task of ${parent.agents.at(-1) ?? parent.session}`;
  return `${agent} began with ${who} ${quoted(input)}`;
}

export const messageClause = ({ from, text }: EventOf<'message.received'>): string =>
  `${MESSAGE[from]} ${quoted(text)}`;
