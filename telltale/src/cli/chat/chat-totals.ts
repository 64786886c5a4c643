import type { ObservedEvent } from '../../events/event.ts';
import { usageOf } from '../../events/usage-of.ts';
import { costText, countText, tokensText } from '../view/figures.ts';

/** What a conversation has come to so far, in one line. */
export interface ChatTotals {
  take(event: ObservedEvent): void;
  text(): string;
}

export function createChatTotals(): ChatTotals {
  let session = '';
  let turns = 0;
  let input = 0;
  let output = 0;
  let estimated = false;
  let cost = 0;
  return {
    take(event) {
      session = event.session;
      if (event.type !== 'turn.completed' && event.type !== 'turn.failed') return;
      if (event.type === 'turn.completed') turns++;
      input += event.usage?.input ?? 0;
      output += event.usage?.output ?? 0;
      estimated ||= event.usage?.estimated === true;
      cost += event.cost_usd ?? 0;
    },
    text() {
      if (session === '') return 'Nothing was said yet.';
      return [
        session,
        `${countText(turns, 'turn')} here`,
        tokensText(usageOf({ input, output, estimated })),
        ...(cost > 0 ? [costText(cost)] : []),
      ].join(' · ');
    },
  };
}
