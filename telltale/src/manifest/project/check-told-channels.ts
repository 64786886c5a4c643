import { suggest } from '../../kernel/nearest.ts';
import type { Issue } from '../issue.ts';
import { quoted } from '../printable.ts';
import { type DocumentNode, warningAt } from '../schema/checks/document-node.ts';

/** Without channels `to` is a word on the log; beside others, a name that is none of them tells all of them. */
export function checkToldChannels(steps: readonly DocumentNode[], agent: DocumentNode): readonly Issue[] {
  const names = agent
    .at('notifications')
    .at('channels')
    .entries()
    .map(([name]) => name);
  if (names.length === 0) return [];
  return steps.flatMap((step) => {
    const to = step.at('to');
    const name = to.text();
    if (step.at('type').value !== 'notify' || name === undefined || name.includes('$')) return [];
    if (names.includes(name)) return [];
    const message = `The agent ${quoted(agent.at('name').text() ?? '?')} has no channel ${quoted(name)}, so all of its channels are notified.`;
    return [warningAt(to, 'unknown_channel', message, { hint: () => suggest(name, names, 'Channels') })];
  });
}
