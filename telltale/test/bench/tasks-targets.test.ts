import { expect, it } from 'vitest';
import type { SystemFigures, TaskFigures } from '../../../bench/tasks/run-system.ts';
import { judgeTasks } from '../../../bench/tasks/targets.ts';

const task = (id: string, change: Partial<TaskFigures> = {}): TaskFigures => ({
  task: id,
  wallMs: 10_000,
  requests: 10,
  input: 10_000,
  uncached: 1_000,
  output: 100,
  fixed: 1_500,
  ...change,
});
const system = (name: string, change: Partial<TaskFigures> = {}): SystemFigures => ({
  name,
  tasks: [task('chain', change), task('free', { ...change, wallMs: 10_000 })],
  lagMs: 1,
});
const GOOD: Partial<TaskFigures> = { wallMs: 4_000, requests: 6, uncached: 900 };
const missed = (ours: SystemFigures, peers: readonly SystemFigures[]) =>
  judgeTasks([ours], peers, ['free'], 1_000)
    .filter(({ met }) => !met)
    .map(({ target }) => target);

it('a system that meets every target passes', () => {
  expect(missed(system('ours', GOOD), [system('peer')])).toEqual([]);
});

it.each([
  ['wall time ≤ 0.75 × the best peer', { ...GOOD, wallMs: 6_000 }],
  ['requests ≤ 0.7 × the best peer', { ...GOOD, requests: 8 }],
  ['input tokens not from cache ≤ 1.0 × the best peer', { ...GOOD, uncached: 1_001 }],
  ['system prompt and schemas ≤ 1.15 × native (1000) + 400', { ...GOOD, fixed: 1_551 }],
])('misses "%s"', (target, change) => {
  expect(missed(system('ours', change), [system('peer')])).toEqual([`ours: ${target}`]);
});

it('compares with the best peer in each figure', () => {
  const quick = system('quick', { wallMs: 5_000 });
  expect(missed(system('ours', GOOD), [system('peer'), quick])).toEqual([
    'ours: wall time ≤ 0.75 × the best peer',
  ]);
});

it('a task without chains that takes longer than at the best peer misses its target', () => {
  const slow: SystemFigures = {
    ...system('ours'),
    tasks: [task('chain', { ...GOOD, wallMs: 1_000 }), task('free', { ...GOOD, wallMs: 10_600 })],
  };
  expect(missed(slow, [system('peer')])).toEqual(['ours: wall time of "free" ≤ 1.05 × the best peer']);
});

it('a wrong answer is a miss, and gives no ratios', () => {
  const verdicts = judgeTasks([system('ours', { ...GOOD, wrong: 'no' })], [system('peer')], ['free'], 1_000);
  expect(verdicts.map(({ target, met }) => [target, met])).toEqual([
    ['ours: tasks done wrong', false],
    ['ours: system prompt and schemas ≤ 1.15 × native (1000) + 400', true],
  ]);
});

it('a peer that did a task wrong is not the best peer', () => {
  const cheat = system('cheat', { wallMs: 1, requests: 1, uncached: 1, wrong: 'no' });
  expect(missed(system('ours', GOOD), [system('peer'), cheat])).toEqual([]);
});
