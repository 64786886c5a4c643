import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { useData } from '../../data/use-data.ts';
import { createRunModel, type RunModel } from './model/run-model.ts';

/** A hidden page has no frames, and must not fall behind. */
const schedule = (run: () => void): void => {
  if (document.hidden) setTimeout(run, 250);
  else requestAnimationFrame(run);
};

/** The model of a run, followed as long as who asks is there. */
export function useRunModel(id: string): { readonly model: RunModel; readonly version: number } {
  const { client } = useData();
  const model = useMemo(() => createRunModel({ source: client, id, schedule }), [client, id]);
  useEffect(() => {
    model.open();
    return model.close;
  }, [model]);
  return { model, version: useSyncExternalStore(model.subscribe, model.version) };
}
