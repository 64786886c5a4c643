import { expect, it } from 'vitest';
import { judgeChildren } from '../../../bench/agents/child-targets.ts';
import { judgeDialects } from '../../../bench/agents/dialect-targets.ts';
import { exitCode } from '../../../bench/agents/verdict.ts';
import { judgeTriggers } from '../../../bench/triggers/targets.ts';
import { judgeWorkflows, type WorkflowFigures } from '../../../bench/workflows/workflow-targets.ts';

const dialects = (tools: number, step: number) =>
  judgeDialects([
    { dialect: 'tags', cpuUs: 100 },
    { dialect: 'tools', cpuUs: tools },
    { dialect: 'step', cpuUs: step },
  ]);

it('native calls that cost 1.3 times a step in tags are good, dearer ones are not', () => {
  expect(exitCode(dialects(130, 100), false)).toBe(0);
  expect(exitCode(dialects(131, 100), false)).toBe(1);
});

it('the dialect step is told, not judged', () => {
  expect(exitCode(dialects(100, 1000), false)).toBe(0);
});

it('a dialect that was not measured is a miss', () => {
  expect(exitCode(judgeDialects([{ dialect: 'tags', cpuUs: 100 }]), false)).toBe(1);
});

it('a sub-agent that starts within a millisecond in memory is good, a later one is not', () => {
  const started = (startMs: number) =>
    judgeChildren([{ store: 'memory', startMs, lateMs: startMs, plainMs: startMs }]);
  expect(exitCode(started(1), false)).toBe(0);
  expect(exitCode(started(1.01), false)).toBe(1);
});

it('a durable start waits for the disk and is told, not judged', () => {
  expect(exitCode(judgeChildren([{ store: 'durable', startMs: 9, lateMs: 9, plainMs: 9 }]), false)).toBe(0);
});

const raced = (name: string, kind: WorkflowFigures['kind'], perSecond: number): WorkflowFigures => ({
  name,
  kind,
  perSecond: [perSecond],
  cpuUs: [1],
  startMs: [5],
  expected: 10,
  ran: 10,
});
const workflows = (ours: number, change: Partial<WorkflowFigures> = {}) =>
  exitCode(
    judgeWorkflows([
      raced('floor', 'floor', 1000),
      { ...raced('ours', 'ours', ours), ...change },
      raced('slow', 'peer', 100),
      raced('quick', 'peer', 500),
    ]),
    false,
  );

it('workflows as quick as the best peer are good, slower ones are not', () => {
  expect(workflows(500)).toBe(0);
  expect(workflows(499)).toBe(1);
});

it('a step that did not run, or ran twice, is a miss', () => {
  expect(workflows(500, { ran: 9 })).toBe(1);
  expect(workflows(500, { ran: 11 })).toBe(1);
});

it('how near workflows come to a bare group commit and to a bare loop on the same store is told, not judged', () => {
  const alone = (ours: number) =>
    judgeWorkflows([
      raced('floor', 'floor', 1000),
      raced('store', 'store', 500),
      raced('ours', 'ours', ours),
    ]);
  const met = (ours: number, what: string) => alone(ours).find(({ target }) => target.includes(what))?.met;
  expect(exitCode(alone(1), false)).toBe(0);
  expect([met(449, 'bare group'), met(450, 'bare group')]).toEqual([false, true]);
  expect([met(224, 'same store'), met(225, 'same store')]).toEqual([false, true]);
  expect([met(29_999, 'durable steps a'), met(30_000, 'durable steps a')]).toEqual([false, true]);
});

it('workflows of ours that were not measured are a miss', () => {
  expect(exitCode(judgeWorkflows([raced('quick', 'peer', 1)]), false)).toBe(1);
  expect(exitCode(judgeWorkflows([]), false)).toBe(1);
});

it('triggers are judged by a loop and by the peer at 10,000, and their time is told', () => {
  const at = (ours: number, naive: number, peer: number | undefined) =>
    judgeTriggers([{ triggers: 10_000, fired: 1, ours, naive, peer }]);
  expect(exitCode(at(10, 2_000, 100_000), false)).toBe(0);
  expect(exitCode(at(10, 1_990, 100_000), false)).toBe(1);
  expect(exitCode(at(10, 2_000, 99_000), false)).toBe(1);
  expect(exitCode(at(10, 2_000, undefined), false)).toBe(0);
});
