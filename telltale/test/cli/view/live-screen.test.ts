import fc from 'fast-check';
import { createColors } from 'picocolors';
import { describe, expect, it } from 'vitest';
import { createLiveScreen } from '../../../src/cli/view/live-screen.ts';
import { createPainter } from '../../../src/cli/view/plain-lines.ts';
import type { EventBody, ObservedEvent } from '../../../src/log/event.ts';
import type { RunEventBody } from '../../../src/log/run-event.ts';
import { displayWidth, plainPalette } from '../../../src/manifest/format-diagnostic.ts';
import {
  actionStarted,
  BEGAN,
  completed,
  declared,
  eventList,
  responseDelta,
  SHORT_RUN,
  started,
  thoughtDelta,
  turnStarted,
} from '../event-list.ts';
import { runEventList, stepCompleted, stepStarted } from '../run-event-list.ts';
import { createTerminal } from '../terminal.ts';

interface Shown {
  /** What stands on the terminal after each event. */
  readonly after: readonly (readonly string[])[];
  /** What is left when all is over. */
  readonly end: readonly string[];
}

/** Draws after every event, on a terminal that is read like a person reads it. */
function watch(
  events: readonly ObservedEvent[],
  { columns = 80, rows = 24, now = BEGAN + 2000 } = {},
): Shown {
  const terminal = createTerminal(columns, rows);
  const screen = createLiveScreen({
    paint: plainPalette,
    size: () => ({ columns, rows }),
    status: () => '[status]',
  });
  const painter = createPainter();
  const after = events.map((event) => {
    screen.show(event);
    terminal.write(painter.paint(screen.frame(now), columns));
    return terminal.lines();
  });
  terminal.write(
    painter.clear(columns) +
      screen
        .finish(now)
        .map((line) => `${line}\n`)
        .join(''),
  );
  return { after, end: terminal.lines() };
}

describe('the live view of a session that is led', () => {
  const screenOf = () => createLiveScreen({ paint: plainPalette, size: () => ({ columns: 80, rows: 24 }) });
  const given = (step: string) =>
    eventList([[0, { type: 'task.given', task: `ses_x~lead:${step}#1`, prompt: 'Look.' } as EventBody]])[0]!;

  it('says at the bottom which step of the run is at work, and leaves out the task in hand', () => {
    const screen = screenOf();
    const [build, look, done] = runEventList([
      [0, stepStarted('ship@1/build', { command: ['make'] })],
      [0, stepStarted('look', { prompt: 'Look.' })],
      [9, stepCompleted('ship@1/build', 'made')],
    ]);
    screen.addGuidingRunEvent(build!);
    expect(screen.frame(BEGAN).live.at(-1)).toContain('step ship@1/build');
    screen.addGuidingRunEvent(look!);
    expect(screen.frame(BEGAN).live.at(-1)).toContain('2 steps running');
    screen.show(given('look'));
    expect(screen.frame(BEGAN).live.at(-1)).toContain('step ship@1/build');
    screen.addGuidingRunEvent(done!);
    const { done: left, live } = screen.frame(BEGAN);
    expect(live.at(-1)).not.toContain('step');
    expect(left).toEqual(['  ✓ ship@1/build  command=["make"]  40 ms  made']);
  });

  it('has no line for a step that its agent completed', () => {
    const screen = screenOf();
    const events = runEventList([
      [0, stepStarted('look', { prompt: 'Look.' })],
      [9, { ...stepCompleted('look', 'seen'), notes: 'Looked at it.' } as RunEventBody],
    ]);
    for (const event of events) screen.addGuidingRunEvent(event);
    expect(screen.finish(BEGAN)).toEqual([]);
  });
});

describe('the live view', () => {
  it('says at the bottom, on a narrow terminal as well, for how long the next try is waited for', () => {
    const screen = createLiveScreen({ paint: plainPalette, size: () => ({ columns: 60, rows: 24 }) });
    const error = {
      code: 'model_overloaded',
      message: 'The provider said much. '.repeat(9),
      retryable: true,
    };
    const [turn, failed, again, left] = eventList([
      [0, turnStarted],
      [100, { type: 'turn.failed', error, retry_in: 20_000 }],
      [20_100, turnStarted],
      [20_200, { type: 'turn.failed', error }],
    ]);
    const bottom = (ms: number) => screen.frame(BEGAN + ms).live.at(-1);
    screen.show(turn!);
    screen.show(failed!);
    expect(bottom(5100)).toContain('turn 1 · next try in 15.0 s · 5.1 s');
    // The clock may be ahead of the event that ends the wait.
    expect(bottom(20_110)).toContain('turn 1 · next try now · 20.1 s');
    screen.show(again!);
    expect(bottom(20_150)).toContain('turn 2 · waiting for the model · 20.1 s');
    screen.show(left!);
    expect(bottom(20_250)).toContain('turn 2 · 20.2 s');
  });

  it('shows a run whose log is replayed', () => {
    expect(watch(SHORT_RUN).end).toEqual([
      '  fixer · scripted:turns.yml · ses_01jc0000000000000000000abc',
      '  Look first.',
      '  Then mend.',
      '  ✓ a1 run_tests  path=src/x.ts flags=["-v"]  800 ms  12 passed',
      '  ● status IDLE → CODING',
      '  ! The model closed a tag that was not open. [stray_close]',
      '',
      '  All **12** pass.',
      '',
    ]);
  });

  it('shows an action where it was declared, running, and turns it into its result in the same place', () => {
    const [declaration, start, end] = eventList([
      [0, declared('a1')],
      [500, actionStarted('a1')],
      [2000, completed('a1', 1500, { passed: 12 })],
    ]) as [ObservedEvent, ObservedEvent, ObservedEvent];
    const { after } = watch([thoughtDelta('Before'), declaration, start, thoughtDelta('after it'), end]);
    expect(after[1]).toEqual(['  Before', '  ○ a1 run_tests', '[status]']);
    expect(after[3]).toEqual(['  Before', '  ▶ a1 run_tests  1.5 s', '  after it', '[status]']);
    expect(after[4]).toEqual([
      '  Before',
      '  ✓ a1 run_tests  1.5 s  {"passed":12}',
      '  after it',
      '[status]',
    ]);
  });

  it('shows what a foreach action is called with, before and after it has started', () => {
    const parameters = { path: '$item', note: 'reads {{item}} after $list' };
    const [declaration, start] = eventList([
      [0, declared('read[0]', { name: 'read', parameters, locals: { item: 'src/a.ts' } })],
      [5, { type: 'action.started', id: 'read[0]', attempt: 1, input: { path: '/w/src/a.ts' } }],
    ]) as [ObservedEvent, ObservedEvent];
    const { after } = watch([declaration, start], { columns: 160 });
    expect(after[0]?.[0]).toContain('read[0] read  path=src/a.ts note="reads src/a.ts after $list"');
    expect(after[1]?.[0]).toContain('path=/w/src/a.ts');
  });

  it('says in words for people what was written for the model', () => {
    const cut = { code: 'interrupted', message: 'You were cut short: the runtime was restarted.' };
    const { end } = watch(
      eventList([
        [0, { type: 'turn.failed', error: { ...cut, retryable: true }, retry_in: 0 }],
        [1, { type: 'fault', code: 'step_open', message: 'End it with complete_step.' }],
        [1, { type: 'fault', code: 'a_new_one', message: 'You wrote it wrong.' }],
        [2, { type: 'message.received', from: 'runtime', text: 'Call complete_step.' }],
        [2, { type: 'message.received', from: 'steer', text: 'Use tabs.' }],
        [3, { type: 'task.stuck', task: 't', why: 'You have called tool "x" with the same input 3 times.' }],
        [4, { type: 'task.answered', task: 't', nth: 1, by: 'runtime', text: 'Call complete_step again.' }],
      ]),
    );
    expect(end.filter((line) => line !== '')).toEqual([
      '  ! The turn was interrupted. The next one continues it.',
      '  ! The model gave a final answer while a step is still open. [step_open]',
      '  ! The model made a mistake and was told so. [a_new_one]',
      '  ! The model was reminded how to continue.',
      '  » message for the next turn: Use tabs.',
      '  ! stuck: The agent called tool "x" with the same input 3 times.',
      '  ↺ the step is not completed yet',
    ]);
  });

  it('does not say that a question waits which the terminal asks, but says when an approval for the session is used', () => {
    const lines = (asks: boolean) => {
      const screen = createLiveScreen({
        paint: plainPalette,
        size: () => ({ columns: 80, rows: 24 }),
        asks,
      });
      const asked = { type: 'review.requested' as const, action: 'a1', target: 'shell', what: 'npm test' };
      const more = { because: 'permissions: { shell }', input: {}, grants: [] };
      for (const event of eventList([
        [0, { ...asked, ...more, review: 'rev_1' }],
        [1, { type: 'review.resolved', review: 'rev_1', answer: 'approved', by: 'user:ana', always: true }],
        [2, { ...asked, ...more, review: 'rev_2' }],
        [
          3,
          { type: 'review.resolved', review: 'rev_2', answer: 'approved', by: 'user:ana', standing: 'rev_1' },
        ],
        [4, { ...asked, ...more, review: 'rev_3' }],
        [5, { type: 'review.resolved', review: 'rev_3', answer: 'withdrawn', by: 'runtime' }],
      ]))
        screen.show(event);
      return screen.finish(BEGAN);
    };
    expect(lines(true)).toEqual([
      '  approved by ana for this session',
      '  approved by ana for this session: npm test',
    ]);
    expect(
      lines(false).filter((line) => line.includes('waiting for approval: shell: npm test')),
    ).toHaveLength(3);
  });

  describe('the result of an action', () => {
    const result = (output: unknown, changes: object = {}, paint = plainPalette) => {
      const screen = createLiveScreen({
        paint,
        size: () => ({ columns: 80, rows: 24 }),
        whole: (session, action) => `show ${session.slice(-3)} --action ${action}`,
      });
      for (const event of eventList([
        [0, declared('a1', changes)],
        [0, actionStarted('a1')],
      ]))
        screen.show(event);
      for (const event of eventList([[9, completed('a1', 9, output)]])) screen.show(event);
      return screen.finish(BEGAN);
    };

    it('is text as text: beside the action where it is a few words, else below it, folded', () => {
      expect(result('12 passed\n')).toEqual(['  ✓ a1 run_tests  9 ms  12 passed']);
      expect(result('one\ntwo\nthree\nfour\nfive\nsix')).toEqual([
        '  ✓ a1 run_tests  9 ms',
        '      one',
        '      two',
        '      three',
        '      … 3 more lines: show abc --action a1',
      ]);
    });

    it('is what a command printed, and that a file was read, edited or written', () => {
      expect(result({ exit_code: 2, stdout: 'out\n', stderr: 'err\n' })).toEqual([
        '  ✓ a1 run_tests  9 ms',
        '      exit code 2',
        '      out',
        '      stderr:',
        '      err',
      ]);
      expect(result({ exit_code: 0, stdout: '', stderr: '' })).toEqual([
        '  ✓ a1 run_tests  9 ms  (no output)',
      ]);
      const file = { path: 'a.txt', content: 'x\ny\n', lines: 2 };
      expect(result(file, { name: 'filesystem' })).toEqual(['  ✓ a1 filesystem  9 ms  read 2 lines']);
      const note = (output: unknown) => result(output, { name: 'filesystem' })[0]?.split('  ').at(-1);
      expect(note({ path: 'a.txt', replaced: 1, line: 7 })).toBe('edited line 7');
      expect(note({ path: 'a.txt', replaced: 3, line: 7 })).toBe('edited 3 places');
      expect(note({ path: 'a.txt', bytes: 1200, created: true })).toBe('created, 1,200 bytes');
      expect(note({ path: 'a.txt', bytes: 1, created: false })).toBe('overwritten, 1 byte');
    });

    it('is the body of a page that was fetched, and all of an answer that says no', () => {
      const page = { status: 200, url: 'http://x/', headers: { a: 'b' }, body: 'Hello' };
      expect(result(page, { name: 'http_fetch' })).toEqual(['  ✓ a1 http_fetch  9 ms  Hello']);
      expect(result({ ...page, body: { n: 1 } }, { name: 'http_fetch' }).at(-1)).toContain('{"n":1}');
      expect(result({ ...page, status: 404 }, { name: 'http_fetch' })[1]).toBe('      HTTP 404 http://x/');
    });

    it('is JSON in colors, and indented and folded where it is long', () => {
      const paint = createColors(true);
      expect(result({ n: 1 }, {}, paint).at(-1)).toContain(`{${paint.cyan('"n"')}:${paint.yellow('1')}}`);
      const items = Array.from({ length: 50 }, (_, n) => ({ n, text: 'x'.repeat(30) }));
      expect(result({ total: 50, items })).toEqual([
        '  ✓ a1 run_tests  9 ms',
        '      {',
        '        "total": 50,',
        '        "items": [',
        '      … 52 more lines: show abc --action a1',
      ]);
    });

    it('is the end of what a command printed before it failed', () => {
      const output = { exit_code: 1, stdout: 'a\nb\nc\nd\ne\n', stderr: '' };
      const error = {
        code: 'command_failed',
        message: 'It ended with exit code 1.',
        retryable: false,
        output,
      };
      const { end } = watch(
        eventList([
          [0, declared('a1')],
          [0, actionStarted('a1')],
          [9, { type: 'action.failed', id: 'a1', error, ms: 9, attempts: 1 }],
        ]),
      );
      expect(end.slice(0, 5)).toEqual([
        '  ✗ a1 run_tests  9 ms  command_failed: It ended with exit code 1.',
        '      … 3 more lines',
        '      c',
        '      d',
        '      e',
      ]);
    });
  });

  it('does not say twice what has been streamed', () => {
    const [thought, response] = eventList([
      [0, { type: 'thought', text: 'Hm, yes.', depth: 0 }],
      [1, { type: 'response', text: 'Hello Ann.', final: true }],
    ]) as [ObservedEvent, ObservedEvent];
    const events = [
      thoughtDelta('Hm, '),
      thoughtDelta('yes.'),
      thought,
      responseDelta('Hello '),
      responseDelta('Ann.'),
      response,
    ];
    expect(watch(events).end).toEqual(['  Hm, yes.', '', '  Hello Ann.', '']);
  });

  it('puts what a workflow does above the row that is being spoken, and breaks none off', () => {
    const ended = eventList([
      [0, { type: 'workflow.completed', run: 'run_1', workflow: 'lint', output: 'clean' }],
    ]);
    const { end } = watch([thoughtDelta('One sentence, '), ...ended, thoughtDelta('said in two pieces.')]);
    expect(end.filter((line) => line !== '')).toEqual([
      '  ⚙ ✓ lint clean',
      '  One sentence, said in two pieces.',
    ]);
  });

  it('ends a response where the next turn begins, however long its events took to be written', () => {
    const [, response, turn] = eventList([
      [0, turnStarted],
      [0, { type: 'response', text: 'Tests: all passed.', final: false }],
      [0, turnStarted],
    ]) as [ObservedEvent, ObservedEvent, ObservedEvent];
    const events = [responseDelta('Tests: all'), responseDelta(' passed.'), response, turn];
    expect(watch(events, { columns: 14 }).end).toEqual(['', '  Tests: all', '  passed.', '  ── turn 2', '']);
  });

  it('shows the same however the model’s text is cut into pieces', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'bc', ' ', '\n', '日本', '👍', '\u001b[31m', '$x'),
      maxLength: 60,
    });
    fc.assert(
      fc.property(text, fc.array(fc.nat(200), { maxLength: 5 }), (whole, cuts) => {
        const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)), whole.length].toSorted(
          (a, b) => a - b,
        );
        const pieces = places.slice(1).map((to, index) => whole.slice(places[index], to));
        // A cut through a sequence or a character leaves a mark in its place: only whole ones are compared.
        fc.pre(pieces.every((piece) => !/^(\[31m|31m|1m|m)|^[\udc00-\udfff]/.test(piece)));
        const once = watch([thoughtDelta(whole)], { columns: 24 }).end;
        expect(
          watch(
            pieces.map((piece) => thoughtDelta(piece)),
            { columns: 24 },
          ).end,
        ).toEqual(once);
      }),
    );
  });

  it('lets an action go that would scroll away, and gives its end a line of its own', () => {
    const [declaration, start, end] = eventList([
      [0, declared('a1')],
      [0, actionStarted('a1')],
      [9000, completed('a1', 9000)],
    ]) as [ObservedEvent, ObservedEvent, ObservedEvent];
    const prose = Array.from({ length: 12 }, (_, index) => thoughtDelta(`line ${index}\n`));
    const { end: lines } = watch([declaration, start, ...prose, end, thoughtDelta('last')], { rows: 8 });
    expect(lines).toEqual([
      '  ▶ a1 run_tests  2.0 s',
      ...Array.from({ length: 12 }, (_, index) => `  line ${index}`),
      '  ✓ a1 run_tests  9.0 s  ok',
      '  last',
      '',
    ]);
  });

  it('has a line for what changes the metadata, and none for what says what was so', () => {
    const change = (changes: object) => ({ type: 'metadata.changed', changes, by: 'model' }) as never;
    const { end } = watch(
      eventList([
        [0, started()],
        [1, change({})],
        [2, change({ status: { from: 'IDLE', to: 'CODING' } })],
        [3, change({})],
      ]),
    );
    expect(end.filter((line) => line.includes('●')).map((line) => line.trim())).toEqual([
      '● status IDLE → CODING',
    ]);
  });

  it('never writes a line that is as wide as the terminal, nor moves the cursor off the screen', () => {
    const wide = eventList([
      [0, started({ agent: '日本語'.repeat(40) })],
      [0, turnStarted],
      [1, declared('a1', { name: 'x'.repeat(300), parameters: { text: '日本 '.repeat(100) } })],
      [2, actionStarted('a1')],
      [3, { type: 'fault', code: 'c', message: 'm '.repeat(300) }],
      [
        4,
        {
          type: 'metadata.changed',
          changes: { f: { from: 'x'.repeat(300), to: 'y'.repeat(300) } },
          by: 'model',
        },
      ],
      [5, completed('a1', 3, 'z'.repeat(100_000))],
    ]);
    for (const columns of [12, 20, 79])
      for (const line of watch([...wide, thoughtDelta('日'.repeat(200))], { columns, rows: 6 }).end)
        expect(displayWidth(line)).toBeLessThan(columns);
  });

  it('lets nothing a model or a tool says steer the terminal', () => {
    const hostile = '\u001b[2J\u001b[H\u001b]0;owned\u0007\r\u0007\u009b31m\u202e\u001b[';
    const events = eventList([
      [0, started({ agent: hostile, model: hostile })],
      [0, turnStarted],
      [1, { type: 'thought', text: hostile, depth: 3 }],
      [1, declared(hostile, { name: hostile, parameters: { [hostile]: hostile }, depends_on: [hostile] })],
      [2, actionStarted(hostile)],
      [
        3,
        {
          type: 'action.failed',
          id: hostile,
          error: { code: hostile, message: hostile, retryable: false },
          ms: 1,
          attempts: 2,
        },
      ],
      [
        3,
        { type: 'metadata.changed', changes: { [hostile]: { from: hostile, to: [hostile] } }, by: hostile },
      ],
      [
        3,
        {
          type: 'metadata.rejected',
          errors: [{ field: hostile, code: hostile, sent: 1, message: hostile, allowed: '' }],
          by: 'model',
        },
      ],
      [
        3,
        { type: 'variable.changed', name: hostile, class: 'derived', from: null, to: hostile, by: hostile },
      ],
      [3, { type: 'fault', code: hostile, message: hostile }],
      [3, { type: 'message.received', from: 'steer', text: hostile }],
      [3, { type: 'custom', name: hostile, data: { [hostile]: hostile } }],
      [3, { type: 'audit', who: hostile, what: hostile }],
      [3, { type: 'if.decided', test: hostile, held: true, problem: hostile }],
      [3, { type: 'session.waiting', for: hostile }],
      [3, { type: 'session.resumed', by: hostile }],
      [4, { type: 'response', text: hostile, final: true }],
    ]);
    // The terminal throws on any sequence that is not the view's own.
    const lines = watch(events).end.join('\n');
    // Nor does half a sequence at the end of a text eat what stands behind it.
    expect(lines).toContain('[ null → ');
    expect(lines).toContain('[ could not be decided: ');
  });

  it('shows nested thoughts further in, and takes deeper ones no further than a terminal has room', () => {
    expect(watch([thoughtDelta('a'), thoughtDelta('b', 1), thoughtDelta('c', 50)]).end).toEqual([
      '  a',
      '    b',
      '          c',
      '',
    ]);
  });

  it('hides what only the runtime asked for', () => {
    const events = eventList([
      [0, declared('loop', { kind: 'internal', name: 'foreach' })],
      [1, completed('loop', 1)],
    ]);
    expect(watch(events).end).toEqual(['']);
  });
});

describe('the live view of a conversation that moved to another agent', () => {
  it('shows what the agent says as it comes, below its name, and once', () => {
    const copied = (type: string, event: object) =>
      ({
        type: `child.${type}`,
        action: 'speaker:billing',
        child: { session: 's.speaker.billing', seq: 1 },
        event,
      }) as EventBody;
    const deltas = ['You owe', ' nothing.'].map((text) => ({ ...responseDelta(text), speaker: 'billing' }));
    const [begun, turn, over, turnOfBilling, answer] = eventList([
      [0, started()],
      [0, turnStarted],
      [1, { type: 'response', text: 'One moment.', final: true }],
      [2, copied('turn.started', { prompt: { tokens: 1, reused_prefix: 0 } })],
      [3, copied('response', { text: 'You owe nothing.', final: true })],
    ]) as [ObservedEvent, ObservedEvent, ObservedEvent, ObservedEvent, ObservedEvent];
    const { after, end } = watch([begun, turn, over, turnOfBilling, ...deltas, answer]);
    expect(after[4]?.join('\n')).toContain('  billing\n  You owe');
    expect(end.join('\n')).toContain('  One moment.\n\n  billing\n  You owe nothing.');
    expect(end.join('\n').match(/You owe/g)).toHaveLength(1);
  });
});

describe('the status line', () => {
  const status = (events: readonly ObservedEvent[], now: number) => {
    const screen = createLiveScreen({ paint: plainPalette, size: () => ({ columns: 80, rows: 24 }) });
    for (const event of events) screen.show(event);
    return screen.frame(now).live.at(-1);
  };

  it('says what goes on, and moves', () => {
    expect(status([], 0)).toBe('⠋ starting');
    expect(status(SHORT_RUN.slice(0, 2), BEGAN + 900)).toMatch(
      /^\S turn 1 · waiting for the model · 900 ms$/,
    );
    const first = [...SHORT_RUN.slice(0, 2), thoughtDelta('Hm')];
    expect(status(first, BEGAN + 900)).toMatch(/^\S turn 1 · the model is speaking · 900 ms$/);
    expect(status(SHORT_RUN.slice(0, 7), BEGAN + 4200)).toMatch(
      /^\S turn 1 · the model is speaking · 1 action running · 4.2 s$/,
    );
    expect(status(SHORT_RUN.slice(0, 9), BEGAN + 4300)).toMatch(/^\S turn 1 · 1 action running · 4.3 s$/);
    expect(status([], 100)).not.toBe(status([], 200));
  });
});

describe('the painter', () => {
  it('clears what a terminal has wrapped that was made narrower', () => {
    const painter = createPainter();
    const wide = createTerminal(20);
    wide.write(painter.paint({ done: [], live: ['x'.repeat(18), 'status'] }, 20));
    expect(painter.clear(10)).toBe('\r\u001b[2A\u001b[J');
  });

  it('comes back to its lines after a person has pressed Enter', () => {
    const painter = createPainter();
    const terminal = createTerminal(20);
    terminal.write(painter.paint({ done: ['a'], live: ['b', 'c'] }, 20));
    terminal.write('\n');
    painter.entered();
    terminal.write(painter.paint({ done: ['b'], live: ['d'] }, 20));
    expect(terminal.lines()).toEqual(['a', 'b', 'd']);
  });
});
