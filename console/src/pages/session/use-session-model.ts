import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { useData } from '../../data/use-data.ts';
import { createSessionModel, type SessionModel } from './model/session-model.ts';

/** Events that come between two frames are shown together. A hidden page has no frames, and must not fall behind. */
const schedule = (run: () => void): void => {
  if (document.hidden) setTimeout(run, 250);
  else requestAnimationFrame(run);
};

/** The model of a session, open as long as the page is. */
export function useSessionModel(id: string): { readonly model: SessionModel; readonly version: number } {
  const { client } = useData();
  const model = useMemo(() => createSessionModel({ source: client, id, schedule }), [client, id]);
  useEffect(() => {
    model.open();
    return model.close;
  }, [model]);
  return { model, version: useSyncExternalStore(model.subscribe, model.version) };
}
