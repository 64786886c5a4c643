// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the manifests under test hold such references
import { describe, expect, it, vi } from 'vitest';
import { found, machine, said, step, steps } from './said.ts';

/** Whole documents, some of them large: on a busy machine five seconds may not do. */
vi.setConfig({ testTimeout: 60_000 });

describe('steps', () => {
  it('have one name each, wherever they stand', () => {
    expect(
      said(steps(step('a'), { name: 'b', type: 'try', body: [step('a')], finally: [step('c')] })),
    ).toEqual([
      'duplicate steps.1.body.0.name: There are two steps named "a". | The first is at steps[0]. Rename this one.',
    ]);
  });

  it('need steps of their own list', () => {
    expect(said(steps(step('build'), step('test', { needs: ['biuld'] })))).toEqual([
      'unknown_step steps.1.needs.0: There is no step "biuld" in this list. | Did you mean "build"?',
    ]);
    expect(
      found(
        steps(step('a'), {
          name: 'l',
          type: 'loop',
          max: 1,
          while: 'true',
          body: [step('b', { needs: ['a'] })],
        }),
      ),
    ).toEqual(['unknown_step steps.1.body.0.needs.0']);
  });

  it('that need each other are shown as a cycle', () => {
    expect(
      said(steps(step('a', { needs: ['c'] }), step('b', { needs: ['a'] }), step('c', { needs: ['b'] }))),
    ).toEqual([
      'cycle steps.0.needs: These steps need each other in a cycle: a → c → b → a. | Break the cycle: one of them has to run first.',
    ]);
    expect(said(steps(step('a', { needs: ['a'] })))[0]).toContain('a → a');
  });

  it('go to a step of the same list, and not to themselves', () => {
    expect(
      said(steps(step('a', { on_error: 'goto clean' }), step('cleanup', { on_error: 'goto cleanup' }))),
    ).toEqual([
      'unknown_step steps.0.on_error: There is no step "clean" in this list to go to. | Did you mean "cleanup"?',
      'cycle steps.1.on_error: The step "cleanup" goes to itself when it fails. | To try again, write "retry: { max: 3 }".',
    ]);
  });

  it('say what happens on an error in one of three ways', () => {
    expect(said(steps(step('a', { on_error: 'ignore' })))).toEqual([
      'not_allowed steps.0.on_error: "on_error" cannot be "ignore". | Allowed: fail, continue, goto STEP.',
    ]);
  });

  it('of a loop have a most number of rounds', () => {
    expect(said(steps({ name: 'a', type: 'loop', while: 'true', body: [step('b')] }))).toEqual([
      'missing steps.0: A loop step needs "max". | The most rounds.',
    ]);
    expect(
      found(steps({ name: 'a', type: 'loop', max: 3, while: 'true', until: 'true', body: [step('b')] })),
    ).toEqual(['exclusive steps.0.until']);
  });

  it('of a try have a catch or a finally', () => {
    expect(found(steps({ name: 'a', type: 'try', body: [step('b')] }))).toEqual(['missing steps.0']);
  });

  it('of an llm have a target or a prompt', () => {
    expect(
      found(steps({ name: 'a', type: 'llm' }, { name: 'b', type: 'llm', target: 'x', prompt: 'y' })),
    ).toEqual(['missing steps.0', 'exclusive steps.1.prompt']);
  });

  it('of an approval time out into one of their options', () => {
    const approval = { type: 'approval', prompt: 'Ship?', timeout: '1h' };
    expect(said(steps({ name: 'a', ...approval, on_timeout: 'aprove' }))).toEqual([
      'unknown_option steps.0.on_timeout: "on_timeout" cannot be "aprove". | Did you mean "approve"?',
    ]);
    expect(found(steps({ name: 'a', type: 'approval', prompt: 'Ship?', on_timeout: 'reject' }))).toEqual([
      'warning no_effect steps.0.on_timeout',
    ]);
  });

  it('that wait take a duration, a time or an event, or one reference', () => {
    const wait = (keys: Record<string, unknown>) => steps(step('s'), { name: 'a', type: 'wait', ...keys });
    expect(found(wait({ for: '${steps.s.output.delay}' }))).toEqual([]);
    expect(found(wait({ for: 'a while' }))).toEqual(['bad_duration steps.1.for']);
    expect(found(wait({ until: 'tomorrow' }))).toEqual(['bad_time steps.1.until']);
    expect(found(wait({ until: '2026-02-30T08:00:00Z' }))).toEqual(['bad_time steps.1.until']);
    expect(found(wait({ event: 'action.finished' }))).toEqual(['not_allowed steps.1.event']);
    expect(found(wait({}))).toEqual(['missing steps.1']);
  });

  it('of a foreach take a list or one reference to it, never other text', () => {
    const each = (list: unknown) =>
      steps(step('s'), { name: 'a', type: 'foreach', in: list, body: [step('b')] });
    expect(found(each('${steps.s.output}'))).toEqual([]);
    expect(found(each('$items'))).toEqual([]);
    expect(found(each([1, 2]))).toEqual([]);
    expect(found(each('all of them'))).toEqual(['not_allowed steps.1.in']);
    expect(found(each(3))).toEqual(['wrong_type steps.1.in']);
  });

  it('take no reference where the runtime must know the value beforehand', () => {
    expect(
      found(steps({ name: 'a', type: 'loop', while: 'true', max: '${vars.n}', body: [step('b')] })),
    ).toEqual(['wrong_type steps.0.max']);
  });

  it('are not nested deeper, nor more of them, than the limits', () => {
    let inner: unknown = step('x');
    for (let depth = 0; depth < 14; depth++)
      inner = { name: `s${depth}`, type: 'try', body: [inner], finally: [step(`f${depth}`)] };
    expect(found(steps(inner))).toEqual([expect.stringContaining('too_deep steps.0.body')]);
    expect(found(steps(...Array.from({ length: 1_001 }, (_, index) => step(`s${index}`))))).toEqual([
      'too_many (root)',
    ]);
  });
});

describe('names in conditions and references', () => {
  it('of steps are those of the workflow', () => {
    expect(
      said(
        steps(
          step('fetch'),
          step('use', { parameters: { a: ['${steps.fecth.output}'] }, if: 'steps.ftch.output.ok' }),
        ),
      ),
    ).toEqual([
      'unknown_step steps.1.if: There is no step "ftch". | Did you mean "fetch"?',
      'unknown_step steps.1.parameters.a.0: There is no step "fecth". | Did you mean "fetch"?',
    ]);
  });

  it('of the agent are those that a step sees', () => {
    expect(said(steps(step('a', { parameters: { id: '${agent.sesion_id}' } })))[0]).toContain(
      'Did you mean "session_id"?',
    );
  });

  it('nearly right are errors, unknown ones may be variables of the agent', () => {
    expect(said(steps(step('a', { if: 'agnet.iteration_count > 1' })))).toEqual([
      'unknown_name steps.0.if: Unknown name "agnet". | Did you mean "agent"?',
    ]);
    expect(found(steps(step('a', { if: 'interview_complete' })))).toEqual([]);
  });

  it('of conditions that are no CEL are spelt exactly', () => {
    expect(said(steps(step('a', { condition: 'previous_step_success' })))[0]).toContain(
      'Did you mean "previous_steps_success"?',
    );
    expect(found(steps(step('a', { condition: 'always' })))).toEqual([]);
  });

  it('of items are known inside their loop only', () => {
    const loop = {
      name: 'l',
      type: 'foreach',
      in: [1],
      as: 'file',
      body: [step('a', { parameters: { p: '${file.path}' } })],
    };
    expect(found(steps(loop))).toEqual([]);
    expect(said(steps(loop, step('b', { parameters: { p: '${file.path}' } })))[0]).toContain(
      'bad_reference steps.1.parameters.p',
    );
    expect(found(steps(step('c', { parameters: { p: '${item}' } })))).toEqual([
      'unknown_name steps.0.parameters.p',
    ]);
  });

  it('of what failed are known in "catch" only', () => {
    const told = { parameters: { p: '${error.message}' }, if: "error.code == 'timeout'" };
    const attempt = (more: object) => ({ name: 't', type: 'try', body: [step('a')], ...more });
    expect(found(steps(attempt({ catch: [step('b', told)] })))).toEqual([]);
    expect(found(steps(attempt({ catch: [step('b')], finally: [step('c', told)] })))).toEqual([
      'bad_reference steps.0.finally.0.parameters.p',
    ]);
  });

  it('are read in the arguments of an invocation, too', () => {
    const ask = (arg: string) => ({ invoke: 'gate', method: 'go', args: [arg], fallback: true });
    expect(found(steps(step('a', { if: ask('${input.x}'), condition: ask('${steps.b.output}') })))).toEqual([
      'unknown_step steps.0.condition.args.0',
    ]);
  });

  it('that compute something are told how to', () => {
    expect(said(steps(step('a', { parameters: { p: '${vars.n + 1}' } })))[0]).toContain(
      'computes nothing: have a step of type script',
    );
  });

  it('are read in the default of a reference too', () => {
    expect(
      found(steps(step('a'), step('b', { parameters: { p: '${steps.a.output ?? steps.c.output}' } }))),
    ).toEqual(['unknown_step steps.1.parameters.p']);
  });

  it('of a variable want its prefix', () => {
    const document = {
      ...steps(step('a', { parameters: { p: '${left}' } })),
      context_variables: { runtime: [{ name: 'left' }] },
    };
    expect(said(document)[0]).toContain('Did you mean "${vars.left}"?');
  });

  it('that cannot be read are errors with an offset', () => {
    expect(found(steps(step('a', { parameters: { p: 'x ${vars.' } })))).toEqual([
      'bad_reference steps.0.parameters.p',
    ]);
  });
});

describe('states', () => {
  const end = { final: true };

  it('begin, go and are chosen where there is a state', () => {
    const choose = { name: 'c', type: 'transition', prompt: '?', transition_map: { go: 'edn' } };
    expect(
      said(
        machine(
          'strat',
          { start: { steps: [choose], transitions: [{ to: 'enb' }] }, end },
          { transitions: [{ from: 'stat', to: 'ed' }] },
        ),
      ),
    ).toEqual([
      'unknown_state initial: There is no state "strat". | Did you mean "start"?',
      'unknown_state states.start.transitions.0.to: There is no state "enb". | Did you mean "end"?',
      'unknown_state states.start.steps.0.transition_map.go: There is no state "edn". | Did you mean "end"?',
      'unknown_state transitions.0.to: There is no state "ed". | Did you mean "end"?',
      'unknown_state transitions.0.from: There is no state "stat". | Did you mean "start"?',
    ]);
  });

  it('that cannot be reached are errors', () => {
    expect(
      said(machine('a', { a: { transitions: [{ to: 'end' }] }, b: { transitions: [{ to: 'end' }] }, end })),
    ).toEqual([
      'unreachable_state states.b: The state "b" cannot be reached from "a". | Add a transition to this state, or remove it.',
    ]);
  });

  it('that an artifact may choose count as reached', () => {
    const choose = {
      name: 'c',
      type: 'transition',
      transition_source: { invoke: 'x', method: 'y', fallback: 'b' },
    };
    expect(found(machine('a', { a: { steps: [choose] }, b: end, c: end }))).toEqual([]);
  });

  it('that cannot be left are errors', () => {
    expect(found(machine('a', { a: {} }))).toEqual(['dead_end states.a']);
    expect(found(machine('a', { a: { transitions: [{ to: 'b', condition: 'false' }] }, b: end }))).toEqual([
      'dead_end states.a',
    ]);
  });

  it('that may not be left get a warning, unless their conditions leave no gap', () => {
    const going = (...conditions: readonly unknown[]) =>
      found(
        machine('a', {
          a: {
            transitions: conditions.map((condition) => ({
              to: 'b',
              ...(condition === undefined ? {} : { condition }),
            })),
          },
          b: end,
        }),
      );
    expect(going('vars.x')).toEqual(['warning may_stall states.a']);
    expect(going('vars.x', undefined)).toEqual([]);
    expect(going('vars.x', '!vars.x')).toEqual([]);
    expect(going('vars.x > 1', '!(vars.x > 1)')).toEqual([]);
    expect(going(undefined, 'vars.x')).toEqual(['warning no_effect states.a.transitions.1']);
    expect(going('vars.x', ' true ', 'vars.y')).toEqual(['warning no_effect states.a.transitions.2']);
    expect(going('vars.x', true, 'vars.y')).toEqual(['warning no_effect states.a.transitions.2']);
    for (const [one, opposite] of [
      ['( vars.x )', '! vars.x'],
      ['has(vars.x)', '!has(vars.x)'],
      ['vars.a && vars.b', '!(vars.a && vars.b)'],
      ['(vars.a) && (vars.b)', '!((vars.a) && (vars.b))'],
    ])
      expect([one, going(one, opposite), going(opposite, one)]).toEqual([one, [], []]);
    for (const [one, other] of [
      ['vars.a && vars.b', '!vars.a && vars.b'],
      ['(vars.a) && (vars.b)', '!(vars.a) && (vars.b)'],
      ['vars.x > 1', '!vars.x'],
    ])
      expect([one, going(one, other)]).toEqual([one, ['warning may_stall states.a']]);
    expect(going(false, ' false ')).toEqual(['dead_end states.a']);
    expect(going(false, 'vars.x')).toEqual(['warning may_stall states.a']);
  });

  it('that are final have no transitions that count', () => {
    const states = { a: { transitions: [{ to: 'b' }] }, b: { final: true, transitions: [{ to: 'a' }] } };
    expect(said(machine('a', states))).toEqual([
      'warning no_effect states.b.transitions: The state "b" is final, so its transitions are never used. | Remove "final" or the transitions.',
    ]);
  });

  it('are left by transitions of the whole workflow too', () => {
    expect(found(machine('a', { a: {}, b: end }, { transitions: [{ from: '*', to: 'b' }] }))).toEqual([]);
    expect(found(machine('a', { a: {}, b: end }, { transitions: [{ from: ['a'], to: 'b' }] }))).toEqual([]);
    const others = machine(
      'a',
      { a: {}, b: { transitions: [{ to: 'c' }] }, c: end },
      {
        transitions: [
          { from: ['b'], to: 'c' },
          { from: 'b', to: 'c' },
        ],
      },
    );
    expect(found(others)).toContain('dead_end states.a');
  });

  it('exclude steps, and demand a beginning', () => {
    expect(found({ ...machine('a', { a: end }), steps: [step('x')] })).toEqual(['exclusive states']);
    expect(found({ kind: 'Workflow', name: 'w' })).toEqual(['missing (root)']);
    expect(found({ kind: 'Workflow', name: 'w', states: { a: end } })).toEqual(['missing states']);
    expect(found({ ...steps(step('x')), max_transitions: 3 })).toEqual(['missing max_transitions']);
  });

  it('are what a transition step needs', () => {
    expect(found(steps({ name: 'c', type: 'transition', prompt: '?', transition_map: { a: 'b' } }))).toEqual([
      'no_states steps.0.type',
    ]);
  });

  it("take a state's name as the fallback of transition_source", () => {
    const choose = {
      name: 'c',
      type: 'transition',
      transition_source: { invoke: 'x', method: 'y', fallback: true },
    };
    expect(found(machine('a', { a: { steps: [choose] }, b: end }))).toEqual([
      'wrong_type states.a.steps.0.transition_source.fallback',
    ]);
  });
});

describe('triggers', () => {
  const on = (trigger: unknown) => found({ ...steps(step('a')), trigger });

  it('stand alone or in a list', () => {
    expect(found({ ...steps(step('a')), trigger: { type: 'manual' }, triggers: [] })).toEqual([
      'exclusive triggers',
    ]);
  });

  it('that match have conditions or a test', () => {
    expect(on({ type: 'metadata_match' })).toEqual(['missing trigger']);
    expect(on({ type: 'variable_match', conditions: { a: 1 }, test: 'true' })).toEqual([
      'exclusive trigger.test',
    ]);
  });

  it('of a schedule have a cron that can come, or a period, and a zone that exists', () => {
    expect(on({ type: 'schedule', cron: '0 25 * * *' })).toEqual(['bad_schedule trigger.cron']);
    expect(on({ type: 'schedule', cron: '* * *' })).toEqual(['bad_schedule trigger.cron']);
    expect(on({ type: 'schedule', cron: '0 0 8 1-5 JAN-MAR/2 MON,FRI' })).toEqual([]);
    expect(on({ type: 'schedule', cron: '@daily', timezone: 'Europe/Lisboa' })).toEqual([
      'bad_time_zone trigger.timezone',
    ]);
    expect(on({ type: 'schedule', every: 0 })).toEqual(['bad_duration trigger.every']);
  });

  it('of an event name one that is on the log', () => {
    expect(on({ type: 'event', event: 'thought.delta' })).toEqual(['not_allowed trigger.event']);
    expect(on({ type: 'event', event: 'child.action.failed' })).toEqual([]);
  });

  it('have only what their type has', () => {
    expect(on({ type: 'schedule', every: '1m', fire: 'once' })).toEqual(['unknown_key trigger.fire']);
  });
});

describe('components, approvals and verifiers of a workflow', () => {
  it('inject into steps that are there, in each of the three forms', () => {
    const components = [
      { name: 'a', prompt: 'x', inject_into: ['rveiew', { step: 'reviev', always: true }] },
      { name: 'b', prompt: 'x', inject_into: { invoke: 'i', method: 'm', fallback: ['nowhere'] } },
    ];
    expect(found({ ...steps(step('review')), components })).toEqual([
      'unknown_step components.0.inject_into.0',
      'unknown_step components.0.inject_into.1.step',
      'unknown_step components.1.inject_into.fallback.0',
    ]);
  });

  it('go by no variable that the model writes', () => {
    const approval = { name: 'a', type: 'approval', prompt: 'Pay ${vars.price}?', if: 'limit > 3' };
    const task = { name: 't', type: 'task', prompt: 'x', verify: { instructions: 'Is $price right?' } };
    const context_variables = { runtime: [{ name: 'price' }, { name: 'limit', writers: ['model', 'user'] }] };
    expect(found({ ...steps(approval, task), context_variables })).toEqual([
      'model_controlled steps.0.prompt',
      'model_controlled steps.0.if',
      'model_controlled steps.1.verify.instructions',
    ]);
  });

  it('verify by a model, an artifact or a command', () => {
    const verify = (by: unknown) => found(steps({ name: 't', type: 'task', prompt: 'x', verify: by }));
    expect(verify({ model: 'fast' })).toEqual([]);
    expect(verify({ when: 'turn' })).toEqual(['missing steps.0.verify']);
    expect(verify({ command: ['npm', 'test'] })).toEqual([]);
    expect(verify({ invoke: 'a', method: 'b', fallback: true })).toEqual([
      'not_allowed steps.0.verify.fallback',
    ]);
    expect(verify({ instructions: 'x', threshold: 'sure' })).toEqual([
      'not_allowed steps.0.verify.threshold',
    ]);
  });
});

describe('tasks', () => {
  const task = (more: object) => ({ name: 't', type: 'task', prompt: 'x', ...more });

  it('require nothing that a model may not write, and no name that means something else', () => {
    const context_variables = {
      defined: [{ name: 'kept', writers: ['user'] }],
      runtime: [
        { name: 'free' },
        { name: 'own', writers: ['model'] },
        { name: 'theirs', writers: ['workflow'] },
      ],
      derived: [{ name: 'seen', expression: 'true' }],
    };
    const requires = { free: {}, own: {}, theirs: {}, kept: {}, seen: {}, steps: {}, other: {} };
    expect(said({ ...steps(task({ requires })), context_variables })).toEqual([
      'not_writable steps.0.requires.theirs: A task cannot require "theirs": the variable of that name cannot be written by the model. | Require another key, or add "model" to the "writers" of the variable.',
      'not_writable steps.0.requires.kept: A task cannot require "kept": the variable of that name cannot be written by the model. | Require another key, or add "model" to the "writers" of the variable.',
      'not_writable steps.0.requires.seen: A task cannot require "seen": the variable of that name is derived, so nobody can set it. | Require another key, or add "model" to the "writers" of the variable.',
      expect.stringContaining('reserved_name steps.0.requires.steps: A task cannot require "steps".'),
    ]);
  });

  it('write what no verifier and no decision of an approval may go by; what a person is told may be anything', () => {
    const requires = { summary: { type: 'string' } };
    const approval = { name: 'a', type: 'approval', prompt: 'Ship ${vars.summary}?', if: 'summary != ""' };
    const judged = { ...task({ verify: { instructions: 'Is ${vars.summary} right?' } }), name: 'u' };
    expect(said(steps(task({ requires }), approval, judged))).toEqual([
      'model_controlled steps.1.if: The variable "summary" is used by an approval, and the agent that works on the step "t" writes it. | Add "writers: [workflow, user]" to it, or use another variable.',
      'model_controlled steps.2.verify.instructions: The variable "summary" is used by a verifier, and the agent that works on the step "t" writes it. | Add "writers: [workflow, user]" to it, or use another variable.',
    ]);
  });

  it('write variables that conditions know by name', () => {
    const requires = { stepz: {} };
    expect(found(steps(task({ requires }), step('b', { if: 'stepz > 1' })))).toEqual([]);
    expect(found(steps(task({}), step('b', { if: 'stepz > 1' })))).toEqual(['unknown_name steps.1.if']);
  });

  it('are judged by programs whose command lines hold no references', () => {
    const verify = (by: object) => found(steps(task({ verify: by })));
    expect(
      verify({ command: ['make', '${vars.goal}'], cwd: '${input.dir}', env: { X: '${steps.t.output}' } }),
    ).toEqual([
      'bad_command steps.0.verify.command.1',
      'bad_command steps.0.verify.cwd',
      'bad_command steps.0.verify.env.X',
    ]);
    expect(verify({ command: [''] })).toEqual(['bad_command steps.0.verify.command.0']);
  });

  it('have references, in prompts, fragments, questions and instructions, that lead somewhere', () => {
    const wrong = task({
      fragments: [{ text: 'See ${steps.nowhere.output}.', if: 'metadat.x == 1' }],
      confirm: 'Begin ${agent.nme}?',
      verify: { instructions: 'As ${steps.gone.output} says?' },
    });
    expect(found(steps(wrong)).toSorted()).toEqual([
      'unknown_name steps.0.confirm',
      'unknown_name steps.0.fragments.0.if',
      'unknown_step steps.0.fragments.0.text',
      'unknown_step steps.0.verify.instructions',
    ]);
  });
});

describe('a manual trigger', () => {
  it('may say how many run at a time, and has no pace else', () => {
    const manual = (keys: object) => ({ ...steps(step('a')), trigger: { type: 'manual', ...keys } });
    expect(found(manual({ concurrency: { max: 2, when_busy: 'queue' } }))).toEqual([]);
    expect(found(manual({ cooldown: '1m' }))).toEqual(['unknown_key trigger.cooldown']);
  });
});

it('a derived variable of a workflow by triggers is never set, which is worth a word', () => {
  const triggers = [{ type: 'event', event: 'custom' }];
  const derived = [
    { name: 'late', expression: '1 > 2' },
    { name: 'early', default: false, triggers },
  ];
  expect(found({ ...steps(step('a')), context_variables: { derived } })).toEqual([
    'warning no_effect context_variables.derived.1.triggers',
  ]);
});

it('a variable of a workflow that is to be kept in a relic lives for the run, which is worth a word', () => {
  const defined = [{ name: 'count', store: 'db', key: 'user' }, { name: 'total' }];
  expect(found({ ...steps(step('a')), context_variables: { defined } })).toEqual([
    'warning no_effect context_variables.defined.0.store',
  ]);
});

describe('a workflow that only a schedule or a webhook starts has no session', () => {
  const asking = (...triggers: readonly object[]) => ({
    ...steps(
      { name: 'tell', type: 'notify', message: 'It is ${agent.metadata.status}.' },
      { name: 'mild', type: 'notify', message: '${agent.metadata.status ?? "none"} of ${agent.agent_name}' },
      { name: 'set', type: 'set_metadata', values: { status: 'BUSY' } },
    ),
    context_variables: {
      defined: [{ name: 'a' }, { name: 'b', key: 'session' }, { name: 'c', key: 'agent' }],
    },
    triggers,
  });
  const nightly = { type: 'schedule', every: '10m' };

  it('which is worth a word where it asks for one', () => {
    const told = [
      'warning no_effect context_variables.defined.0.name',
      'warning no_effect context_variables.defined.1.key',
      'warning no_session steps.0.message',
      'warning no_session steps.2.type',
    ];
    expect(found(asking(nightly)).toSorted()).toEqual(told);
    expect(found(asking(nightly, { type: 'webhook', hook: 'paid', secret: 'S' })).toSorted()).toEqual(told);
  });

  it('and none where something else starts it, too, or may', () => {
    expect(found(asking(nightly, { type: 'manual' }))).toEqual([]);
    expect(found(asking(nightly, { type: 'event', event: 'custom' }))).toEqual([]);
    expect(found(asking())).toEqual([]);
  });
});
