import type { RunState } from '../../events/run-state.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';

/** An event that a run waits for, as `telltale workflow signal` sends it. */
export interface WantedSignal {
  readonly event: string;
  readonly data: JsonObject;
}

/**
 * What the `wait` steps that are under way would take. For a wait on `custom`, the `name` that its `match` wants is the
 * event; of other fields those are given that have one value to be.
 */
export const wantedSignals = ({ steps }: Pick<RunState, 'steps'>): readonly WantedSignal[] =>
  [...steps.values()].flatMap(({ status, input }) => {
    const event = input?.event;
    if (status !== 'running' || typeof event !== 'string') return [];
    const fields = Object.entries(isJsonObject(input?.match) ? input.match : {}).filter(([, want]) =>
      isPlain(want),
    );
    if (event !== 'custom') return [{ event, data: dataOf(fields) }];
    const name = fields.find(([path]) => path === 'name')?.[1];
    const inData = fields.flatMap(([path, want]): [string, Json][] =>
      path.startsWith('data.') ? [[path.slice('data.'.length), want]] : [],
    );
    return [{ event: typeof name === 'string' ? name : event, data: dataOf(inData) }];
  });

const dataOf = (fields: readonly (readonly [string, Json])[]): JsonObject =>
  Object.fromEntries(fields.filter(([path]) => !/[.[]/.test(path)));

const isPlain = (value: Json): boolean => value !== null && typeof value !== 'object';
