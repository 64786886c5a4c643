import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { agentFolder } from '../agent/run-agent.ts';
import { speak } from '../agent/speak.ts';
import { recordedIo } from './recorded-io.ts';

const NOTES = 'Looked at all of it with care, and wrote down what there was to find about it.';
const STEPS = `steps:
  - { name: mark, type: tool, target: mark, parameters: { file: marked }, compensate: { target: mark, parameters: { file: undone } } }
  - { name: look, type: task, prompt: Look at it. }
  - { name: allow, type: approval, prompt: "Go on?" }
  - { name: tell, type: task, prompt: Tell of it. }
`;

/** A dozen commands, each of which opens the store anew. */
const SLOW = 30_000;

interface Told {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** An agent that a workflow leads, up to a question to a person. */
async function waiting(steps = STEPS, turns = 2) {
  const turn = JSON.stringify(speak('tags', [{ complete: NOTES }]));
  const cwd = agentFolder('', {
    'agent.yml':
      'kind: Agent\nname: led\nmodel: scripted:turns.yml\nworkflow: way\npermissions: { sandbox: off }\nimport: { workflows: [./way.yml], tools: [./mark.yml] }\n',
    'mark.yml':
      'kind: Tool\nname: mark\nparameters: { type: object, properties: { file: { type: string } } }\nimplementation: { command: [touch, "{file}"] }\n',
    'turns.yml': `turns: [${`{ text: ${turn} }, `.repeat(turns)}]\n`,
    'way.yml': `kind: Workflow\nname: way\n${steps}`,
  });
  const tell = async (...argv: string[]): Promise<Told> => {
    const io = { ...recordedIo({ cwd, env: {} }), clock: createSystemClock() };
    return { code: await main(argv, io), out: io.out(), err: io.err() };
  };
  const begun = await tell('run', 'agent.yml', 'Go');
  const [, session = ''] = /(ses_\w+)/.exec(begun.out) ?? [];
  return { cwd, tell, begun, session, lead: `${session}~lead` };
}

/** The type of each line, and the first word behind it. */
const typesOf = (out: string): readonly string[] =>
  out.split('\n').map((line) => line.split(/ +/).slice(0, 2).join(' '));

describe('a session that is led', () => {
  it(
    'says what its run waits for and how to answer; show, why and the tab key know of both',
    async () => {
      const { tell, begun, session, lead } = await waiting();
      const [, review = ''] = /(rev_\w+)/.exec(begun.out) ?? [];
      expect(begun.code).toBe(3);
      expect(typesOf(begun.out).slice(0, 3)).toEqual([
        `session.started ${session}`,
        'step.completed mark',
        'task.given look:',
      ]);
      expect(begun.out).not.toMatch(/^step\.\S+ +look/m);
      expect(begun.err.split('\n')).toEqual([
        'waiting: The session is waiting for a person.',
        '  allow asks: Go on? [approve / reject]',
        `  → telltale reviews approve ${review}   (or: reject)`,
        `Resume with: telltale resume ${session}`,
        '',
      ]);
      const shown = await tell('show', session);
      expect(shown.out).toMatch(/^task +said to be done: Look at it\.$/m);
      expect(shown.out).toContain(`way  waiting  ${lead}, leads it`);
      expect(JSON.parse((await tell('show', session, '--json')).out).task).toMatchObject({
        prompt: 'Look at it.',
        report: { kind: 'claimed', notes: NOTES },
      });
      expect((await tell('workflow', 'show', lead)).out).toMatch(new RegExp(`^leads +${session}$`, 'm'));

      const claimed = JSON.parse((await tell('logs', lead, '--type', 'step.claimed', '--json')).out);
      const why = await tell('why', lead, String(claimed.seq));
      expect(
        why.out.split('\n').map((line) => /[a-z]+\.[a-z]+/.exec(line.replace(/ses_\S+/, ''))?.[0]),
      ).toEqual([
        'step.claimed',
        'task.claimed',
        'turn.started',
        'task.given',
        'step.started',
        'workflow.started',
        'session.started',
        undefined,
        undefined,
      ]);

      const at = async (...words: string[]) =>
        (await tell('__complete', String(words.length), 'telltale', ...words)).out;
      expect(await at('reviews', 'approve', 'rev_')).toBe(`${review}\tapproval: Go on?\n`);
      expect((await at('import', '')).split('\n')).toContain('workrail');

      expect((await tell('reviews', 'approve', review)).out).toContain(
        `No process is working on it now. Continue with:\n  telltale resume ${session}\n`,
      );
      const ended = await tell('resume', session);
      expect(ended).toMatchObject({ code: 0, err: '' });
      // Session and run are two streams: each is shown in its own order.
      const shownTypes = typesOf(ended.out);
      expect(shownTypes.filter((type) => !type.startsWith('step.')).slice(0, 3)).toEqual([
        'session.resumed by',
        'task.over look',
        'task.given tell:',
      ]);
      expect(shownTypes).toContain('step.completed allow');
      expect(ended.out).toMatch(/^task\.over +look$/m);
      expect(ended.out).toMatch(/^task\.given +tell: Tell of it\.$/m);
    },
    SLOW,
  );

  it(
    'is cancelled with its run: the question is withdrawn, what was done is undone, and nothing goes on',
    async () => {
      const { cwd, tell, begun, session } = await waiting();
      const [, review = ''] = /(rev_\w+)/.exec(begun.out) ?? [];
      expect((await tell('cancel', session)).out).toBe(
        `No process worked on ${session}. It is cancelled now.\n`,
      );
      expect(existsSync(join(cwd, 'undone'))).toBe(true);
      expect((await tell('reviews', 'approve', review)).code).toBe(1);
      expect((await tell('resume', session)).out).toMatch(/^session\.cancelled by workflow/m);
    },
    SLOW,
  );

  it(
    'says which step of its run failed and what was undone, before it fails itself',
    async () => {
      const failing = STEPS.replace(
        /- \{ name: look.*$/s,
        '- { name: check, type: script, command: [sh, -c, "exit 3"] }\n',
      );
      const { begun, session, lead } = await waiting(failing);
      expect(begun.code).toBe(1);
      expect(typesOf(begun.out).slice(1, 5)).toEqual([
        'step.completed mark',
        'step.failed check',
        'step.compensated mark',
        'session.failed workflow_failed:',
      ]);
      expect(begun.err).toContain(
        `  → See: telltale logs ${session}\n  → To see what happened: telltale workflow show ${lead}\n`,
      );
    },
    SLOW,
  );

  it(
    'that fails leaves its run for the resume of the session, and speaks of no other work',
    async () => {
      const tasks = STEPS.split('\n').filter((line) => !/mark|allow/.test(line));
      const { begun, session } = await waiting(tasks.join('\n'), 1);
      expect(begun.code).toBe(1);
      expect(begun.out).toMatch(/^session\.failed /m);
      expect(begun.out).not.toContain('still at work');
      expect(begun.err).toContain(`telltale logs ${session}\n`);
      expect(begun.out + begun.err).not.toContain('workflow resume');
    },
    SLOW,
  );
});
