import type { Act, Move } from '../move.ts';
import type { Task, TaskKind } from '../task.ts';

/** What happens once must not happen twice: the valve keeps a book of its own. */
const valve = (code: string) => `[ "$1" = "$(cat level.txt)" ] || { echo "wrong level"; exit 1; }
echo "opened at $1" >> valve.log
echo "${code}" > level.txt
echo "valve: open"
`;

function make(nonce: (name: string) => string): Task {
  const before = `L-${nonce('before')}`;
  const after = `L-${nonce('after')}`;
  return {
    input:
      'Watch level.txt with a feed of your own named "level". Once you see the level, open the valve with: sh valve.sh LEVEL. When the feed shows the new level, tell me the old one and the new one.',
    agent: {
      description: 'Watches a tank.',
      instructions: 'You watch a tank. What changes, you watch with feeds.',
      metadata: { fields: { status: { values: ['WATCHING', 'OPENING', 'DONE'], default: 'WATCHING' } } },
      context_feeds: [{ id: 'rules', source: { type: 'file', name: 'rules.txt' } }],
      tools: ['builtin:shell'],
      permissions: { paths: ['.'], shell: 'allow' },
    },
    files: {
      'rules.txt': 'Open the valve once and no more.\n',
      'level.txt': `${before}\n`,
      'valve.sh': valve(after),
      'valve.log': '',
    },
    policy({ told }): Move {
      const levels = [...new Set(told.match(/\bL-[0-9a-f]+/g) ?? [])];
      const [old, fresh] = levels;
      if (old === undefined)
        return { thought: 'I watch the level.', metadata: { status: 'WATCHING' }, acts: [WATCH] };
      if (fresh === undefined)
        return { metadata: { status: 'OPENING' }, acts: /valve: open/.test(told) ? [LOOK] : [open(old)] };
      return {
        metadata: { status: 'DONE' },
        acts: [],
        final: `The level was ${old}, and it is ${fresh} now.`,
      };
    },
    turns: 3,
    answers: [`The level was ${before}, and it is ${after} now.`],
    changed: { 'level.txt': `${after}\n`, 'valve.log': `opened at ${before}\n` },
    guess: 'The level was L-unseen, and it is L-unseen now.',
  };
}

const WATCH: Act = {
  key: 'watch',
  kind: 'internal',
  name: 'context_feed',
  parameters: { operation: 'add', id: 'level', source: { type: 'file', name: 'level.txt' } },
};

const LOOK: Act = {
  key: 'look',
  kind: 'internal',
  name: 'context_feed',
  parameters: { operation: 'read', id: 'level', refresh: true },
};

const open = (level: string): Act => ({
  key: 'open',
  name: 'shell',
  parameters: { command: `sh valve.sh ${level}` },
});

export const FEEDS: TaskKind = { name: 'feeds', make };
