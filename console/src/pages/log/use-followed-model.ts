import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { TelltaleClient } from '../../../../telltale/src/client/client.ts';
import { useData } from '../../data/use-data.ts';

/** A model that is folded from a growing log. */
interface FollowedModel {
  open(): void;
  close(): void;
  subscribe(listener: () => void): () => void;
  /** Increases with every change. */
  version(): number;
}

interface FollowedEdges {
  readonly source: TelltaleClient;
  readonly id: string;
  readonly schedule: (run: () => void) => void;
}

/** Events that arrive between two frames are shown together. A hidden page has no frames and must not fall behind. */
const schedule = (run: () => void): void => {
  if (document.hidden) setTimeout(run, 250);
  else requestAnimationFrame(run);
};

/** The model of a log, followed while the component is mounted. */
export function useFollowedModel<Model extends FollowedModel>(
  create: (edges: FollowedEdges) => Model,
  id: string,
): { readonly model: Model; readonly version: number } {
  const { client } = useData();
  const model = useMemo(() => create({ source: client, id, schedule }), [create, client, id]);
  useEffect(() => {
    model.open();
    return model.close;
  }, [model]);
  return { model, version: useSyncExternalStore(model.subscribe, model.version) };
}
