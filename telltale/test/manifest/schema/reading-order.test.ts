// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of manifests, not of JavaScript
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { moreRuns } from '../../more-runs.ts';
import { found, machine, said, step, steps } from './said.ts';

/** A step that reads the output of another. */
const reads = (name: string, other: string, keys: Record<string, unknown> = {}) =>
  step(name, { parameters: { p: `\${steps.${other}.output}` }, ...keys });
const loop = (name: string, body: readonly unknown[], keys: Record<string, unknown> = {}) => ({
  name,
  type: 'loop',
  while: 'true',
  max: 2,
  body,
  ...keys,
});
const branches = (type: string, list: readonly unknown[], keys: Record<string, unknown> = {}) => ({
  name: type,
  type,
  branches: list,
  ...keys,
});
const tried = (parts: Record<string, unknown>) => ({ name: 'tried', type: 'try', ...parts });
const cases = (...bodies: readonly (readonly unknown[])[]) => ({
  name: 'cases',
  type: 'switch',
  cases: bodies.map((body) => ({ if: 'input.x == 1', body })),
});

describe('a result that can never be there is an error, with what can be', () => {
  it.each<[string, object, string]>([
    [
      'of the step itself',
      steps(step('a'), reads('b', 'b')),
      'read_too_early steps.1.parameters.p: "steps.b.output" is never available when the step "b" reads it: a step has a result only after it has finished. | Steps that can have finished by then: a.',
    ],
    [
      'of a step that comes later, with the nearest name of one that does not',
      steps(step('build'), reads('b', 'built'), step('built')),
      'read_too_early steps.1.parameters.p: "steps.built.output" is never available when the step "b" reads it: "built" always comes later. | Did you mean "build"?',
    ],
    [
      'where no step comes before',
      steps(reads('a', 'b'), step('b')),
      'read_too_early steps.0.parameters.p: "steps.b.output" is never available when the step "a" reads it: "b" always comes later. | No step has finished by then.',
    ],
    [
      'of the step around',
      steps(tried({ body: [reads('a', 'tried')], finally: [step('b')] })),
      'read_too_early steps.0.body.0.parameters.p: "steps.tried.output" is never available when the step "a" reads it: it is inside "tried", which has not finished by then. | No step has finished by then.',
    ],
    [
      'of a step inside',
      steps({ ...cases([step('a')]), if: 'steps.a.output == 1' }),
      'read_too_early steps.0.if: "steps.a.output" is never available when the step "cases" reads it: "a" is inside it and has not started by then. | No step has finished by then.',
    ],
    [
      'of another case',
      steps(cases([step('a')], [reads('b', 'a')])),
      'read_too_early steps.0.cases.1.body.0.parameters.p: "steps.a.output" is never available when the step "b" reads it: "a" belongs to another case, and only one case runs. | No step has finished by then.',
    ],
    [
      'of a state that only comes later',
      machine('s', {
        s: { steps: [step('z')], transitions: [{ to: 't', condition: 'steps.b.output == 1' }, { to: 't' }] },
        t: { steps: [step('b')], final: true },
      }),
      'read_too_early states.s.transitions.0.condition: "steps.b.output" is never available when the state "s" reads it: "b" always comes later. | Steps that can have finished by then: z.',
    ],
  ])('%s', (_what, workflow, line) => {
    expect(said(workflow)).toEqual([line]);
  });

  it.each<[string, object, string]>([
    [
      'in a condition',
      steps(step('a', { condition: 'steps.b.error.code == "x"' }), step('b')),
      'steps.0.condition',
    ],
    [
      'in a case',
      steps({ name: 's', type: 'switch', cases: [{ if: 'steps.b.output == 1', body: [step('b')] }] }),
      'steps.0.cases.0.if',
    ],
    [
      'in what a loop is asked of a later step',
      steps(loop('l', [step('a')], { while: 'steps.b.output > 1' }), step('b')),
      'steps.0.while',
    ],
    [
      'in the items of a foreach',
      steps({ name: 'f', type: 'foreach', in: '${steps.b.output}', body: [step('b')] }),
      'steps.0.in',
    ],
    [
      'in a list inside of another',
      steps(tried({ body: [reads('a', 'c')], catch: [step('b')] }), step('c')),
      'steps.0.body.0.parameters.p',
    ],
    [
      'of what catches it',
      steps(tried({ body: [reads('a', 'b')], catch: [step('b')] })),
      'steps.0.body.0.parameters.p',
    ],
    [
      'of what needs the reader',
      steps(reads('a', 'c'), step('b', { needs: ['a'] }), step('c', { needs: ['b'] })),
      'steps.0.parameters.p',
    ],
    [
      'of a later branch, where one runs at a time',
      steps(branches('parallel', [reads('a', 'b'), step('b')], { max_parallel: 1 })),
      'steps.0.branches.0.parameters.p',
    ],
    [
      'in the arguments of a decision',
      steps(
        step('a', { if: { invoke: 'g', method: 'm', args: ['${steps.b.output}'], fallback: true } }),
        step('b'),
      ),
      'steps.0.if.args.0',
    ],
    [
      'in the prompt of a task',
      steps({ name: 't', type: 'task', prompt: 'See ${steps.b.output}.' }, step('b')),
      'steps.0.prompt',
    ],
    [
      'of a transition of all states',
      machine(
        's',
        { s: { transitions: [{ to: 't' }] }, t: { final: true, steps: [step('b')] } },
        { transitions: [{ from: ['s'], to: 't', condition: 'steps.b.output == 1' }] },
      ),
      'transitions.0.condition',
    ],
  ])('%s', (_what, workflow, place) => {
    expect(found(workflow)).toEqual([`read_too_early ${place}`]);
  });

  it('is a warning where the reader says what counts instead', () => {
    expect(found(steps(step('a', { parameters: { p: '${steps.b.output ?? 1}' } }), step('b')))).toEqual([
      'warning read_too_early steps.0.parameters.p',
    ]);
    expect(found(steps(step('a', { if: 'has(steps.b.output)' }), step('b')))).toEqual([
      'warning read_too_early steps.0.if',
    ]);
  });
});

describe('a result of which nothing says that it is there is a warning', () => {
  it.each<[string, object, string]>([
    [
      'in a graph',
      steps(step('a'), step('x'), reads('b', 'a', { needs: ['x'] })),
      'warning read_unordered steps.2.parameters.p: "steps.a.output" may not be available when the step "b" reads it, because "a" and "b" run in any order. | Add "a" to the "needs" of "b", or write a fallback ("??", or has() in CEL).',
    ],
    [
      'of another branch',
      steps(branches('parallel', [step('a'), [step('x'), reads('b', 'a')]])),
      'warning read_unordered steps.0.branches.1.1.parameters.p: "steps.a.output" may not be available when the step "b" reads it, because "a" and "x" run in any order. | Put the steps into one branch, one after the other, or write a fallback ("??", or has() in CEL).',
    ],
  ])('%s', (_what, workflow, line) => {
    expect(said(workflow)).toEqual([line]);
  });

  it('unless the reader says what counts instead', () => {
    const b = step('b', { needs: ['x'], parameters: { p: '${steps.a.output ?? 1}' } });
    expect(said(steps(step('a'), step('x'), b))).toEqual([]);
    expect(said(steps(branches('race', [step('a'), step('b', { if: 'has(steps.a.output)' })])))).toEqual([]);
  });
});

describe('a result that can be there is fine', () => {
  const again = { s: { steps: [reads('a', 'b'), reads('b', 'b')], transitions: [{ to: 's' }] } };
  const circle = {
    s: { steps: [reads('a', 'c')], transitions: [{ to: 't', condition: 'input.x' }, { to: 'u' }] },
    t: { steps: [step('c')], transitions: [{ to: 's' }] },
    u: { final: true, steps: [reads('d', 'c')] },
  };
  it.each<[string, object]>([
    ['of a step before it', steps(step('a'), reads('b', 'a'))],
    ['of a step inside of one before it', steps(cases([step('a')]), reads('b', 'a'))],
    ['of a step before the one around it', steps(step('a'), cases([reads('b', 'a')]))],
    ['of the round before', steps(loop('l', [reads('a', 'b'), reads('b', 'b')]))],
    [
      'of the rounds so far, where the next is decided',
      steps(loop('l', [step('a')], { while: 'steps.a.output > 1' })),
    ],
    [
      'of a loop itself in the round before of the loop around it',
      steps(loop('o', [loop('l', [reads('a', 'l')])])),
    ],
    ['of another case in the round before', steps(loop('l', [cases([reads('a', 'b')], [step('b')])]))],
    [
      'of another item',
      steps({ name: 'f', type: 'foreach', in: [1, 2], body: [reads('a', 'b'), step('b')] }),
    ],
    [
      'of the try before',
      steps(tried({ body: [reads('a', 'b'), step('b')], finally: [step('c')], retry: 1 })),
    ],
    [
      'of what a failure leads back over',
      steps(step('z'), reads('a', 'b'), step('b'), step('c', { on_error: 'goto a' })),
    ],
    [
      'of what two failures lead back over, one behind the other',
      steps(
        step('a', { if: "steps.d.status == 'completed' && steps.d.output == 'seen'" }),
        step('b'),
        step('c', { on_error: 'goto a' }),
        step('d'),
        step('e', { on_error: 'goto c' }),
      ),
    ],
    [
      'of what is tried, where it is caught',
      steps(tried({ body: [step('a')], catch: [reads('b', 'a')], finally: [reads('c', 'b')] })),
    ],
    [
      'of what it needs, however far',
      steps(reads('c', 'a', { needs: ['b'] }), step('b', { needs: ['a'] }), step('a')),
    ],
    [
      'of an earlier branch, where one runs at a time',
      steps(branches('parallel', [step('a'), reads('b', 'a')], { max_parallel: 1 })),
    ],
    ['of a state that is entered again', machine('s', again)],
    ['of a state that can come before', machine('s', circle)],
    [
      'of the same state before, where an artifact decides which comes next',
      machine('s', {
        s: {
          steps: [
            reads('a', 'b'),
            step('b'),
            {
              name: 'go',
              type: 'transition',
              transition_source: { invoke: 'g', method: 'm', fallback: 't' },
            },
          ],
        },
        t: { final: true },
      }),
    ],
    [
      'in what undoes a step',
      steps(
        step('a', { compensate: { target: 't', parameters: { p: '${steps.a.output} ${steps.b.output}' } } }),
        step('b'),
      ),
    ],
    [
      'if it is only asked how a step stands',
      steps(step('a', { if: 'steps.b.status == "pending"' }), step('b')),
    ],
  ])('%s', (_what, workflow) => {
    expect(found(workflow).filter((line) => line.includes('read_'))).toEqual([]);
  });

  it('and which of two steps of one name is meant is not asked', () => {
    expect(found(steps(reads('a', 'b'), step('b'), step('b')))).toEqual(['duplicate steps.2.name']);
  });

  it('and a state that is not there hides what might come before', () => {
    const states = {
      s: { steps: [reads('a', 'b')], transitions: [{ to: 't' }] },
      t: { steps: [step('b')], transitions: [{ to: 'ss' }] },
    };
    expect(found(machine('s', states))).toEqual(['unknown_state states.t.transitions.0.to']);
  });
});

/** The steps that can have ended when each begins, by walking every way through the list. */
function endedBefore(jumps: readonly (number | undefined)[]): readonly ReadonlySet<number>[] {
  const ended = jumps.map(() => new Set<number>());
  const seen = new Set<string>();
  const walk = (at: number, before: readonly number[]): void => {
    const key = `${at} ${before}`;
    if (at === jumps.length || seen.has(key)) return;
    seen.add(key);
    for (const each of before) ended[at]?.add(each);
    const after = [...new Set([...before, at])].sort();
    walk(at + 1, after);
    const to = jumps[at];
    if (to !== undefined) walk(to, after);
  };
  walk(0, []);
  return ended;
}

it('a result is refused in a list with jumps exactly where no way through it has brought it', () => {
  const lists = fc
    .integer({ min: 3, max: 5 })
    .chain((length) =>
      fc.array(fc.option(fc.nat(length - 1), { nil: undefined }), { minLength: length, maxLength: length }),
    );
  fc.assert(
    fc.property(lists, fc.nat(4), fc.nat(4), (jumps, one, other) => {
      const [by, read] = [one % jumps.length, other % jumps.length];
      const list = jumps.map((to, at) => {
        const jump = to === undefined ? {} : { on_error: `goto s${to}` };
        return at === by ? reads(`s${at}`, `s${read}`, jump) : step(`s${at}`, jump);
      });
      const isRefused = found(steps(...list)).some((line) => line.startsWith('read_too_early'));
      expect(isRefused).toBe(endedBefore(jumps)[by]?.has(read) === false);
    }),
    { numRuns: moreRuns(500) },
  );
});
