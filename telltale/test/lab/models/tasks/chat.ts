import type { Act, Move } from '../move.ts';
import type { Task, TaskKind } from '../task.ts';

const STEER = 'MESSAGE-TWO: also tell me her tide, from tides.txt.';
const NEXT = 'MESSAGE-THREE: write both into log.txt, with a colon between them.';

const read = (key: string, path: string): Act => ({
  key,
  name: 'filesystem',
  parameters: { operation: 'read', path },
  idempotent: true,
});

function make(nonce: (name: string) => string): Task {
  const berth = `Q-${nonce('berth')}`;
  const tide = `T-${nonce('tide')}`;
  return {
    input: 'MESSAGE-ONE: at which berth is the Aurora? It stands in berths.txt.',
    agent: {
      description: 'Answers the harbor master.',
      instructions: 'You answer the harbor master from the files.',
      metadata: { fields: { status: { values: ['LOOKING', 'ANSWERED'], default: 'LOOKING' } } },
      tools: ['builtin:filesystem'],
      permissions: { paths: ['.'] },
    },
    files: {
      'berths.txt': `Aurora: berth ${berth}\nBorealis: at sea\n`,
      'tides.txt': `Aurora sails with the tide ${tide}.\n`,
    },
    conversation: { steer: { atRequest: 2, text: STEER }, next: NEXT },
    policy({ told, did }): Move {
      const [berthSeen] = /\bQ-[0-9a-f]+/.exec(told) ?? [];
      const [tideSeen] = /\bT-[0-9a-f]+/.exec(told) ?? [];
      const isSteered = told.includes('MESSAGE-TWO');
      const unread = [
        ...(berthSeen === undefined ? [read('berth', 'berths.txt')] : []),
        ...(isSteered && tideSeen === undefined ? [read('tide', 'tides.txt')] : []),
      ];
      if (unread.length > 0)
        return { thought: 'That is in a file.', metadata: { status: 'LOOKING' }, acts: unread };
      if (!isSteered)
        return { metadata: { status: 'ANSWERED' }, acts: [], final: `The Aurora is at berth ${berthSeen}.` };
      if (!told.includes('MESSAGE-THREE'))
        return {
          metadata: { status: 'ANSWERED' },
          acts: [],
          final: `The Aurora is at berth ${berthSeen} and sails with the tide ${tideSeen}.`,
        };
      return did('log', /log\.txt/)
        ? { acts: [], final: `log.txt has ${berthSeen} and ${tideSeen}.` }
        : { acts: [writeLog(`${berthSeen}:${tideSeen}\n`)] };
    },
    turns: 6,
    answers: [
      `The Aurora is at berth ${berth} and sails with the tide ${tide}.`,
      `log.txt has ${berth} and ${tide}.`,
    ],
    changed: { 'log.txt': `${berth}:${tide}\n` },
    guess: 'The Aurora is at berth Q-unseen and sails with the tide T-unseen.',
  };
}

const writeLog = (content: string): Act => ({
  key: 'log',
  name: 'filesystem',
  parameters: { operation: 'write', path: 'log.txt', content },
  idempotent: true,
});

export const CHAT: TaskKind = { name: 'chat', make };
