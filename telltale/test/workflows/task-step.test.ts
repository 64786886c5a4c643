import { describe, expect, it } from 'vitest';
import { foldRun } from '../../src/log/reduce-run.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import type { TaskReport } from '../../src/workflows/guided/task.ts';
import { claim, NOTES, of, PASS, type Play, short, taskWorld, verdict, type Work } from './task-stage.ts';

const task = (more: object = {}) => ({
  name: 'build',
  type: 'task',
  prompt: 'Build ${vars.what ?? x}.',
  ...more,
});
const VERIFY = { instructions: 'Is it built?' };

const again = (text: string, by = 'model test/cheap') => ({ kind: 'again', text, by });

describe('a task', () => {
  it('is given under a key of its attempt, with what it requires, accepts and is proved by', async () => {
    const host = taskWorld({
      vars: { what: 'it' },
      document: {
        context_variables: {
          runtime: [
            { name: 'count', type: 'number', description: 'How many.' },
            { name: 'free' },
            { name: 'score', type: 'number' },
            { name: 'guarded', writers: ['workflow', 'user'] },
          ],
        },
        steps: [
          task({
            requires: { score: { minimum: 1 }, branch: { type: 'string' } },
            evidence: ['run_tests'],
            max_turns: 7,
            verify: { ...VERIFY, when: 'turn' },
            agent: 'coder',
          }),
        ],
      },
    });
    await host.play();
    expect(host.tasks).toEqual([
      {
        key: 'run1:build#1',
        prompt: 'Build it.',
        requires: { score: { type: 'number', minimum: 1 }, branch: { type: 'string' } },
        accepts: { count: { type: 'number', description: 'How many.' }, free: {} },
        evidence: ['run_tests'],
        maxTurns: 7,
        judgesTurns: true,
        checked: true,
      },
    ]);
    expect(host.agents).toEqual(['coder']);
  });

  it('is done when it is claimed where nobody verifies it: its notes stand beside its output', async () => {
    const host = taskWorld({
      document: { steps: [task()] },
      work: (_, words) => claim(words.length + 1, { artifacts: [{ file: 'a.ts' }], evidence: ['a1'] }),
    });
    const { end, events } = await host.play();
    const output = { notes: NOTES, context_updates: {}, artifacts: [{ file: 'a.ts' }] };
    expect(end).toEqual({ kind: 'completed', output });
    expect(short(events)).toEqual([
      'workflow.started',
      'step.started build',
      'step.claimed build 1',
      'step.completed build',
    ]);
    expect(of(events)('step.claimed')).toMatchObject([
      { by: 'ses_1', notes: NOTES, artifacts: [{ file: 'a.ts' }], evidence: ['a1'], turns: 1, attempt: 1 },
    ]);
    expect(of(events)('step.completed')).toMatchObject([{ notes: NOTES, output }]);
    expect(host.calls).toEqual(['give run1:build#1']);
  });

  it('sets variables by its agent’s name once it has passed, for conditions, references and bare names', async () => {
    const host = taskWorld({
      document: {
        context_variables: { runtime: [{ name: 'score', type: 'number' }] },
        steps: [
          task({ agent: 'coder', requires: { branch: { type: 'string' } }, verify: VERIFY }),
          {
            name: 'look',
            type: 'emit',
            event: 'e',
            data: '${vars.branch}',
            if: 'score > 3 && branch == "b2"',
          },
        ],
      },
      says: (nth) => (nth === 0 ? verdict('retry', { instruction: 'More.' }) : PASS),
      work: (_, words) =>
        claim(words.length + 1, { context_updates: { branch: `b${words.length + 1}`, score: 4 } }),
    });
    const { end, events } = await host.play();
    expect(end).toMatchObject({ output: { event: 'e', data: 'b2' } });
    expect(short(events).filter((line) => /variable|build/.test(line))).toEqual([
      'step.started build',
      'step.claimed build 1',
      'model.used build',
      'verify build 1 retry',
      'step.claimed build 2',
      'model.used build',
      'verify build 2 pass',
      'variable branch="b2" by coder',
      'variable score=4 by coder',
      'step.completed build',
    ]);
  });

  it('fails with the error of who worked on it, and a try after that is another task', async () => {
    const error = {
      code: 'max_turns',
      message: 'It took more than 7 turns.',
      hint: 'Allow more.',
      retryable: false,
    };
    const host = taskWorld({
      document: { steps: [task({ retry: { max: 1, backoff: '10ms' } })] },
      work: ({ key }) => (key.endsWith('#1') ? { kind: 'failed', by: 'ses_1', error } : claim(1)),
    });
    const playing = host.play();
    await host.clock.runAll();
    const { events, end } = await playing;
    expect(end.kind).toBe('completed');
    expect(of(events)('step.retrying')).toMatchObject([{ error }]);
    expect(host.calls).toEqual(['give run1:build#1', 'give run1:build#2']);
  });

  it('has a time-out that a person’s thinking does not use up, and that a restart does not begin anew', async () => {
    const never: Work = (_, __, { signal, suspend }) =>
      new Promise<TaskReport>((_resolve, reject) => {
        suspend('client');
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    const host = taskWorld({
      document: { steps: [task({ timeout: '1h', confirm: true })] },
      work: never,
      person: () => ['approve'],
    });
    const events: RunEvent[] = [];
    await host.walk(events);
    await host.clock.advance(5 * 3_600_000);
    const waits = await host.walk(events);
    expect(waits).toEqual({ kind: 'parked', for: 'client', due: host.clock.now() + 3_600_000 });
    await host.clock.advance(1_800_000);
    expect(await host.walk(events)).toMatchObject({ kind: 'parked', due: host.clock.now() + 1_800_000 });
    await host.clock.advance(1_800_000);
    expect(await host.walk(events)).toMatchObject({ kind: 'failed', error: { code: 'timeout' } });
  });
});

describe('the prompt of a task', () => {
  const prompts = async (document: object, more: Partial<Play> = {}) => {
    const host = taskWorld({ document, ...more });
    const { events } = await host.play();
    return { prompts: host.tasks.map(({ prompt }) => prompt), events, host };
  };

  it('is joined by components, then by fragments whose tests hold, each decided once and on the log', async () => {
    const asked = { invoke: 'gate', method: 'open', fallback: false };
    const {
      prompts: given,
      events,
      host,
    } = await prompts(
      {
        components: [{ name: 'tone', prompt: 'Be brief.', inject_into: ['build'] }],
        steps: [
          task({
            fragments: [
              { text: 'Always ${vars.what}.' },
              { text: 'Large.', if: 'size > 3' },
              { text: 'Small.', if: 'size <= 3' },
              { text: 'Gated.', if: asked },
            ],
          }),
        ],
      },
      { vars: { what: 'it', size: 5 }, invoke: () => ({ result: true }) },
    );
    expect(given).toEqual(['Build it.\n\nBe brief.\n\nAlways it.\n\nLarge.\n\nGated.']);
    expect(of(events)('if.decided')).toMatchObject([
      { at_step: 'build:fragment 1', held: true },
      { at_step: 'build:fragment 2', held: false },
      { at_step: 'build:fragment 3', test: 'gate.open', held: true },
    ]);
    expect(host.invoked).toHaveLength(1);
  });

  const REFERENCES = {
    references: [
      { title: 'Style', source: 'docs/style.md', purpose: 'how we write.', authoritative: true },
      { title: 'Spec', source: 'https://example.com/spec' },
    ],
  };
  const TOLD = [
    'Documents for this work:',
    '- Style: docs/style.md (how we write). Where it and something else differ, it counts.',
    '- Spec: https://example.com/spec',
  ].join('\n');
  const three = [
    { name: 'a', type: 'task', prompt: 'A.' },
    { name: 'b', type: 'task', prompt: 'B.', agent: 'coder' },
    { name: 'c', type: 'task', prompt: 'C.' },
    { name: 'd', type: 'task', prompt: 'D.', agent: 'coder' },
  ];

  it('names the references with the first task that a worker gets', async () => {
    const { prompts: given } = await prompts({ ...REFERENCES, steps: three });
    expect(given).toEqual([`A.\n\n${TOLD}`, `B.\n\n${TOLD}`, 'C.', 'D.']);
  });

  it('names them once where one client works on all tasks', async () => {
    const { prompts: given } = await prompts(
      { ...REFERENCES, steps: three },
      { origin: { client: 'editor' } },
    );
    expect(given).toEqual([`A.\n\n${TOLD}`, 'B.', 'C.', 'D.']);
  });

  it('names them with the next task where the first was kept from beginning', async () => {
    const [a, , c] = three;
    const steps = [{ ...a, confirm: true, on_error: 'continue' }, c];
    const { prompts: given } = await prompts({ ...REFERENCES, steps }, { person: () => ['reject'] });
    expect(given).toEqual([`C.\n\n${TOLD}`]);
  });
});

describe('a task that has to be confirmed', () => {
  it('is given to nobody before a person says so', async () => {
    const host = taskWorld({
      document: { steps: [task({ confirm: 'Build ${vars.what} now?' })] },
      vars: { what: 'it' },
      person: () => ['approve'],
    });
    const events: RunEvent[] = [];
    expect(await host.walk(events)).toMatchObject({ kind: 'parked' });
    expect(host.calls).toEqual([]);
    expect(of(events)('review.requested')).toMatchObject([
      { step: 'build', kind: 'confirm', prompt: 'Build it now?', options: ['approve', 'reject'] },
    ]);
    expect(await host.walk(events)).toMatchObject({ kind: 'completed' });
    expect(of(events)('review.requested')).toHaveLength(1);
  });

  it('shows the prompt where the question is not written, and fails with who rejected it', async () => {
    const host = taskWorld({
      document: { steps: [task({ confirm: true })] },
      person: () => ['reject', 'Not today.'],
    });
    const { end, events } = await host.play();
    expect(of(events)('review.requested')[0]?.prompt).toBe('May the step "build" begin?\n\nBuild x.');
    expect(end).toMatchObject({
      kind: 'failed',
      error: {
        code: 'rejected',
        message: 'The step "build" was rejected by ada before it began: Not today.',
      },
    });
    expect(host.calls).toEqual([]);
  });
});

describe('a claim that is not accepted', () => {
  const refusing = (more: object = {}, play: Partial<Play> = {}) =>
    taskWorld({
      document: { steps: [task({ verify: { ...VERIFY, ...more } })] },
      says: (nth) => verdict('retry', { instruction: `Mend ${nth}.` }),
      ...play,
    });

  it('comes back to the agent with the verifier’s instruction, then to a person, whose word counts', async () => {
    const host = refusing({ max_retries: 2 }, { person: () => ['pass'] });
    const { end, events } = await host.play();
    expect(end).toMatchObject({ kind: 'completed', output: { notes: NOTES } });
    expect(host.words.get('run1:build#1')).toEqual([again('Mend 0.'), again('Mend 1.')]);
    expect(host.questions).toHaveLength(3);
    const [question] = of(events)('review.requested');
    expect(question).toMatchObject({ kind: 'escalation', nth: 3, options: ['pass', 'retry', 'fail'] });
    for (const part of [
      'The step "build" needs a decision. The agent and the verifier disagree, after 2 more tries.',
      'Build x.',
      NOTES,
      'The verifier (model test/cheap) says retry, high confidence:\nIt is a retry.\nIt asks for: Mend 2.',
    ])
      expect(question?.prompt).toContain(part);
  });

  it('is tried again with a person’s note, and once more with the verifier’s, before they are asked again', async () => {
    const host = refusing(
      { max_retries: 2 },
      { person: (nth) => (nth === 0 ? ['retry', 'Look at the log.'] : ['fail', 'Enough.']) },
    );
    const { end, events } = await host.play();
    expect(host.words.get('run1:build#1')).toEqual([
      again('Mend 0.'),
      again('Mend 1.'),
      again('Look at the log.', 'ada'),
      again('Mend 3.'),
    ]);
    expect(of(events)('review.requested').map(({ nth }) => nth)).toEqual([3, 5]);
    expect(end).toMatchObject({
      kind: 'failed',
      error: {
        code: 'not_verified',
        message: 'The step "build" is not done: its verifier did not accept it, and ada ended it: Enough.',
      },
    });
  });

  it('goes to a person at once, every time, where no retry is allowed', async () => {
    const host = refusing({ max_retries: 0 }, { person: (nth) => [nth < 2 ? 'retry' : 'pass'] });
    const { events } = await host.play();
    expect(of(events)('review.requested').map(({ nth }) => nth)).toEqual([1, 2, 3]);
    expect(of(events)('review.requested')[0]?.prompt).toContain('The agent and the verifier disagree.\n');
    // Without a note the verifier's own instruction is passed on.
    expect(host.words.get('run1:build#1')).toEqual([again('Mend 0.', 'ada'), again('Mend 1.', 'ada')]);
  });

  it('goes to a person at once where the verifier says so', async () => {
    const host = refusing({}, { says: () => verdict('escalate'), person: () => ['pass'] });
    const { end, events } = await host.play();
    expect(end.kind).toBe('completed');
    expect(of(events)('review.requested')[0]?.prompt).toContain('The verifier asks for a person.');
    expect(host.questions).toHaveLength(1);
  });

  it('counts its retries anew in another attempt', async () => {
    const host = refusing(
      { max_retries: 1 },
      {
        document: {
          steps: [task({ retry: { max: 1, backoff: '1ms' }, verify: { ...VERIFY, max_retries: 1 } })],
        },
        person: (nth) => (nth === 0 ? ['fail'] : ['pass']),
      },
    );
    const playing = host.play();
    await host.clock.runAll();
    const { events } = await playing;
    expect(of(events)('review.requested').map(({ nth }) => nth)).toEqual([2, 2]);
    expect([...host.words.keys()]).toEqual(['run1:build#1', 'run1:build#2']);
  });
});

describe('an agent that is stuck', () => {
  const stuck: Work = (_, words) =>
    words.length === 0
      ? { kind: 'stuck', nth: 1, by: 'ses_1', turns: 4, why: 'It read the same file 3 times.' }
      : claim(words.length + 1);

  it('goes on with a person’s note', async () => {
    const host = taskWorld({
      document: { steps: [task()] },
      work: stuck,
      person: () => ['retry', 'Read b.ts.'],
    });
    const { end, events } = await host.play();
    expect(end.kind).toBe('completed');
    expect(host.words.get('run1:build#1')).toEqual([again('Read b.ts.', 'ada')]);
    expect(of(events)('step.stuck')).toMatchObject([{ nth: 1, why: 'It read the same file 3 times.' }]);
    expect(of(events)('review.requested')).toMatchObject([
      { kind: 'escalation', nth: 1, options: ['retry', 'fail'] },
    ]);
  });

  it('is ended by a person, and no “pass” makes the step done', async () => {
    for (const choice of ['fail', 'pass']) {
      const host = taskWorld({ document: { steps: [task()] }, work: stuck, person: () => [choice] });
      const { end } = await host.play();
      expect(end).toMatchObject({ kind: 'failed', error: { code: 'stuck' } });
      if (end.kind === 'failed')
        expect(end.error.message).toBe(
          'The agent came no further with the step "build" (It read the same file 3 times), and ada ended it.',
        );
    }
  });

  it('does not use up the verifier’s retries', async () => {
    const host = taskWorld({
      document: { steps: [task({ verify: { ...VERIFY, max_retries: 2 } })] },
      work: stuck,
      says: () => verdict('retry'),
      person: (nth) => (nth === 0 ? ['retry'] : ['pass']),
    });
    const { events } = await host.play();
    expect(of(events)('review.requested').map(({ nth }) => nth)).toEqual([1, 4]);
  });
});

describe('a verifier of turns', () => {
  const turns =
    (upTo: number): Work =>
    (_, words) =>
      words.length < upTo
        ? { kind: 'turn', nth: words.length + 1, by: 'ses_1', turns: words.length + 1, work: [] }
        : claim(words.length + 1);
  const judged = (says: readonly string[], upTo: number, more: Partial<Play> = {}) =>
    taskWorld({
      document: { steps: [task({ verify: { ...VERIFY, when: 'turn', max_retries: 1 } })] },
      work: turns(upTo),
      says: (nth) => says[nth] ?? PASS,
      ...more,
    });

  it('lets it go on, or tells it to do something else, and judges the end as well', async () => {
    const host = judged([PASS, verdict('retry', { instruction: 'Turn left.' })], 2);
    const { end, events } = await host.play();
    expect(end.kind).toBe('completed');
    expect(host.words.get('run1:build#1')).toEqual([{ kind: 'go_on' }, again('Turn left.')]);
    expect(of(events)('verify').map(({ nth, assessment }) => `${nth} ${assessment}`)).toEqual([
      '1 pass',
      '2 retry',
      '3 pass',
    ]);
    expect(host.questions[0]?.message).toContain('a turn of it is over');
    expect(host.questions[2]?.message).toContain('says that it has done a step');
  });

  it('asks a person when it said the same thing too often in a row; their pass lets it go on', async () => {
    const retry = verdict('retry');
    const host = judged([retry, PASS, retry, retry], 5, { person: () => ['pass'] });
    const { end, events } = await host.play();
    expect(end.kind).toBe('completed');
    expect(of(events)('review.requested')).toMatchObject([{ nth: 4, options: ['pass', 'retry', 'fail'] }]);
    expect(host.words.get('run1:build#1')?.map(({ kind }) => kind)).toEqual([
      'again',
      'go_on',
      'again',
      'go_on',
      'go_on',
    ]);
  });

  it('hears nothing of turns where it judges at completion, should one be reported', async () => {
    const host = taskWorld({ document: { steps: [task({ verify: VERIFY })] }, work: turns(2) });
    await host.play();
    expect(host.questions).toHaveLength(1);
  });
});

describe('a process that dies', () => {
  const LONG: Play = {
    vars: { size: 5 },
    document: {
      references: [{ title: 'Style', source: 'style.md' }],
      steps: [
        task({
          confirm: true,
          fragments: [{ text: 'Large.', if: 'size > 3' }],
          requires: { branch: { type: 'string' } },
          verify: { ...VERIFY, when: 'turn', max_retries: 1 },
        }),
        { name: 'ship', type: 'task', prompt: 'Ship ${vars.branch}.' },
      ],
    },
    work: ({ key }, words) => {
      const nth = words.length + 1;
      if (key.includes('ship')) return claim(nth);
      if (nth === 1) return { kind: 'turn', nth, by: 'ses_1', turns: 1, work: [] };
      if (nth === 2) return { kind: 'stuck', nth, by: 'ses_1', turns: 2, why: 'It repeats itself.' };
      return claim(nth, { context_updates: { branch: `b${nth}` } });
    },
    // Turn 1 passes, the claims 3 and 4 are refused (a person is asked at 4), 5 is accepted.
    says: (_, { message }) =>
      message.includes('"turns": 1,') || message.includes('"turns": 5,') ? PASS : verdict('retry'),
    person: (_, prompt) => {
      if (prompt.startsWith('May')) return ['approve'];
      return ['retry', prompt.includes('comes no further') ? 'Go on.' : 'Better.'];
    },
  };

  const WHOLE = [
    'workflow.started',
    'if.decided',
    'step.started build',
    'asked build confirm',
    'answered approve',
    'model.used build',
    'verify build 1 pass',
    'step.stuck build 2',
    'asked build escalation 2',
    'answered retry',
    'step.claimed build 3',
    'model.used build',
    'verify build 3 retry',
    'step.claimed build 4',
    'model.used build',
    'verify build 4 retry',
    'asked build escalation 4',
    'answered retry',
    'step.claimed build 5',
    'model.used build',
    'verify build 5 pass',
    'variable branch="b5" by tester',
    'step.completed build',
    'step.started ship',
    'step.claimed ship 1',
    'step.completed ship',
  ];
  const WORDS = [{ kind: 'go_on' }, again('Go on.', 'ada'), again('It is a retry.'), again('Better.', 'ada')];

  it('lets a long task go the same way as without', async () => {
    const host = taskWorld(LONG);
    const { events, end } = await host.play();
    expect(short(events)).toEqual(WHOLE);
    expect(end).toMatchObject({ kind: 'completed', output: { notes: NOTES } });
    expect(host.words.get('run1:build#1')).toEqual(WORDS);
    expect(host.tasks.map(({ prompt }) => prompt)).toContain('Ship b5.');
  });

  // A model that was asked, and whose verdict was lost with the process, is asked again; nothing else is. An answer is
  // written from outside, whoever is there: what is lost then is what comes next.
  const lostVerdict = (at: number): boolean =>
    WHOLE[at]?.startsWith('answered') ? lostVerdict(at + 1) : /^(verify|model.used)/.test(WHOLE[at] ?? '');

  it.each(WHOLE.map((line, at) => [at, line] as const).slice(1))(
    'at any point (%i: before “%s”) repeats nothing that is on its log',
    async (at, line) => {
      const host = taskWorld(LONG);
      const events: RunEvent[] = [];
      let died = false;
      for (let walks = 0; ; walks++) {
        const end = await host.walk(events, died ? undefined : at);
        if (end === 'dead') died = true;
        else if (end.kind !== 'parked') break;
        expect(walks).toBeLessThan(20);
      }
      expect(died).toBe(true);
      const again = line.startsWith('verify');
      const lines = short(events);
      expect(again ? lines.toSpliced(at, 1) : lines).toEqual(WHOLE);
      expect(host.people()).toBe(3);
      expect(host.questions).toHaveLength(lostVerdict(at) ? 5 : 4);
      expect(host.words.get('run1:build#1')).toEqual(WORDS);
      expect(of(events)('step.completed').map(({ step }) => step)).toEqual(['build', 'ship']);
      expect(foldRun(events).variables.get('branch')).toBe('b5');
    },
  );

  it('once the log says that the step is done, sets nobody to work again', async () => {
    const host = taskWorld(LONG);
    const events: RunEvent[] = [];
    const at = WHOLE.indexOf('variable branch="b5" by tester');
    while (events.length < at) await host.walk(events, at);
    expect(short(events).at(-1)).toBe('verify build 5 pass');
    const before = host.calls.length;
    const overBefore = host.over.length;
    await host.walk(events);
    expect(host.calls.slice(before)).toEqual(['give run1:ship#1']);
    // Who waits for its worker hears of it, too.
    expect(host.over.slice(overBefore)).toEqual(['run1:build#1', 'run1:ship#1']);
  });

  it('while a person thinks, wakes no worker to go on waiting', async () => {
    const host = taskWorld({ ...LONG, person: (nth) => (nth === 0 ? ['approve'] : undefined) });
    const events: RunEvent[] = [];
    for (let walks = 0; walks < 2; walks++) await host.walk(events);
    expect(short(events).at(-1)).toBe('asked build escalation 2');
    const before = host.calls.length;
    expect(await host.walk(events)).toMatchObject({ kind: 'parked' });
    expect(host.calls.length).toBe(before);
    expect(short(events).at(-1)).toBe('asked build escalation 2');
  });
});

describe('a task that is stopped', () => {
  it('writes nothing more, whatever its worker still reports', async () => {
    let report: (report: TaskReport) => void = () => undefined;
    const host = taskWorld({
      document: { steps: [task({ verify: VERIFY })] },
      work: () =>
        new Promise((resolve) => {
          report = resolve;
        }),
    });
    const events: RunEvent[] = [];
    const stop = new AbortController();
    const walking = host.walk(events, undefined, stop.signal);
    await host.clock.advance(1);
    stop.abort();
    report(claim(1));
    expect(await walking).toEqual({ kind: 'stopped' });
    expect(short(events)).toEqual(['workflow.started', 'step.started build']);
    expect(host.questions).toEqual([]);
  });
});
