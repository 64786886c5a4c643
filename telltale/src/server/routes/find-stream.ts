import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store, StreamInfo } from '../../store/store.ts';

/** The session or run of that id. Throws `session_unknown` or `run_unknown`. */
export async function findStream(store: Store, kind: StreamInfo['kind'], id: string): Promise<StreamInfo> {
  const info = await store.info(id);
  if (info?.kind === kind) return info;
  throw unknown(kind, id, store.location, info?.kind);
}

const unknown = (
  kind: StreamInfo['kind'],
  id: string,
  location: string,
  other: StreamInfo['kind'] | undefined,
) =>
  new RuntimeError(
    kind === 'session' ? 'session_unknown' : 'run_unknown',
    other === undefined
      ? `No ${WORDS[kind]} "${id.slice(0, 200)}" is in ${location}.`
      : `${id} is no ${WORDS[kind]}: it is a ${WORDS[other]}.`,
    { hint: other === undefined ? `List them: GET /${kind}s` : `See GET /${other}s/${id}` },
  );

const WORDS = { session: 'session', run: 'workflow run' } as const;
