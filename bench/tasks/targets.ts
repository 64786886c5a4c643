import { atMost, type Verdict } from '../agents/verdict.ts';
import type { SystemFigures, TaskFigures } from './run-system.ts';

const sum = (tasks: readonly TaskFigures[], value: (task: TaskFigures) => number): number =>
  tasks.reduce((total, task) => total + value(task), 0);

export const wallOf = ({ tasks }: SystemFigures): number => sum(tasks, ({ wallMs }) => wallMs);
export const requestsOf = ({ tasks }: SystemFigures): number => sum(tasks, ({ requests }) => requests);
export const uncachedOf = ({ tasks }: SystemFigures): number => sum(tasks, ({ uncached }) => uncached);
export const inputOf = ({ tasks }: SystemFigures): number => sum(tasks, ({ input }) => input);
export const outputOf = ({ tasks }: SystemFigures): number => sum(tasks, ({ output }) => output);
export const fixedOf = ({ tasks }: SystemFigures): number => Math.max(...tasks.map(({ fixed }) => fixed));
export const isRight = ({ tasks }: SystemFigures): boolean => tasks.every(({ wrong }) => wrong === undefined);

/**
 * The targets of performance for each of ours. The best peer is the best in each figure by itself, of those that did
 * all tasks right. `chainFree`: the tasks in which no call depends on another.
 */
export function judgeTasks(
  ours: readonly SystemFigures[],
  peers: readonly SystemFigures[],
  chainFree: readonly string[],
  native: number,
): readonly Verdict[] {
  const right = peers.filter(isRight);
  const best = (value: (system: SystemFigures) => number) => Math.min(...right.map(value));
  return ours.flatMap((system) => {
    const ratio = (value: (each: SystemFigures) => number) => value(system) / best(value);
    const wrong = system.tasks.filter((task) => task.wrong !== undefined).length;
    const verdicts = [atMost(`${system.name}: tasks done wrong`, wrong, 0, 'tasks')];
    if (right.length > 0 && wrong === 0) {
      verdicts.push(
        atMost(`${system.name}: wall time ≤ 0.75 × the best peer`, ratio(wallOf), 0.75, '×'),
        ...chainFree
          .filter((id) => system.tasks.some(({ task }) => task === id))
          .map((id) => {
            const wall = ({ tasks }: SystemFigures) =>
              sum(tasks, ({ task, wallMs }) => (task === id ? wallMs : 0));
            return atMost(
              `${system.name}: wall time of "${id}" ≤ 1.05 × the best peer`,
              ratio(wall),
              1.05,
              '×',
            );
          }),
        atMost(`${system.name}: requests ≤ 0.7 × the best peer`, ratio(requestsOf), 0.7, '×'),
        atMost(
          `${system.name}: input tokens not from cache ≤ 1.0 × the best peer`,
          ratio(uncachedOf),
          1,
          '×',
        ),
      );
    }
    verdicts.push(
      atMost(
        `${system.name}: system prompt and schemas ≤ 1.15 × native (${native}) + 400`,
        fixedOf(system),
        1.15 * native + 400,
        'tokens',
      ),
    );
    return verdicts;
  });
}
