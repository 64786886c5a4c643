import { useReadable } from '../data/readable.ts';
import { useData } from '../data/use-data.ts';
import { useSignIn } from '../data/use-sign-in.ts';
import { Icon } from '../ui/icon.tsx';

const WORDS = { connecting: 'Connecting', open: 'Live', lost: 'Offline' } as const;

/** The connection's status, the user and their role, and the server's version. */
export function ConnectionNote() {
  const { connection, who } = useData();
  const { token, signIn } = useSignIn();
  const { kind } = useReadable(connection);
  const state = useReadable(who);
  return (
    <div className="min-w-0 flex-1 px-1.5 text-small text-ink-faint">
      <p className="flex items-center gap-1.5">
        {kind === 'open' ? (
          <span aria-hidden="true" className="mx-0.5 size-2 rounded-full bg-done" />
        ) : (
          <Icon name={kind === 'lost' ? 'offline' : 'spinner'} size={12} />
        )}
        <span className="text-ink-soft">{WORDS[kind]}</span>
      </p>
      {state.kind === 'known' ? (
        <>
          <p className="truncate" title={`Role ${state.who.role}, store ${state.who.store}`}>
            {state.who.name} · {state.who.role}
          </p>
          <p className="truncate">
            v{state.who.version}
            {state.who.dev ? ' · dev' : ''}
          </p>
        </>
      ) : null}
      {token === undefined ? null : (
        <button type="button" className="text-accent hover:underline" onClick={() => signIn(undefined)}>
          Sign out
        </button>
      )}
    </div>
  );
}
