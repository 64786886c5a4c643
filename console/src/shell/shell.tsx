import { Component, type FormEvent, type ReactNode, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { type ErrorJson, toRuntimeError } from '../../../telltale/src/lib/errors.ts';
import { useReadable } from '../data/readable.ts';
import { tokenIn } from '../data/token-vault.ts';
import { useData } from '../data/use-data.ts';
import { useSignIn } from '../data/use-sign-in.ts';
import { Button } from '../ui/button.tsx';
import { cx } from '../ui/class-names.ts';
import { Code } from '../ui/code.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { Field } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { Kbd } from '../ui/kbd.tsx';
import { ToastRegion } from '../ui/toast-region.tsx';
import { ArrivalContext } from './arrival.ts';
import { ConnectionNote } from './connection-note.tsx';
import { Logo } from './logo.tsx';
import { MissingCode, OfflineBanner } from './lost-server.tsx';
import { homeOf, NAV_ITEMS } from './nav-items.ts';
import { NavLink } from './nav-link.tsx';
import { Routes } from './routes.tsx';
import { LISTED_SHORTCUTS, readKey, SEQUENCE_MS } from './shortcuts.ts';
import { type NavProps, Sidebar } from './sidebar.tsx';
import { useKeys } from './use-keys.ts';

/** The frame around every page. */
export function Shell() {
  const { connection, who, reviews } = useData();
  const [location] = useLocation();
  const [help, setHelp] = useState(false);
  const state = useReadable(connection);
  const caller = useReadable(who);
  const { open } = useReadable(reviews);
  const first = useRef(location);
  const moved = useRef(false);
  if (first.current !== location && first.current !== '/') moved.current = true;
  else first.current = location;
  useShortcuts(() => setHelp(true));
  if (caller.kind === 'refused') return <TokenPrompt error={caller.error} />;
  const nav = { home: homeOf(location), waiting: open.length, onHelp: () => setHelp(true) };
  return (
    <ArrivalContext value={moved}>
      <button
        type="button"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 font-medium text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
        onClick={() => document.getElementById('main')?.focus()}
      >
        Skip to content
      </button>
      <div className="flex h-dvh flex-col md:flex-row">
        <Sidebar {...nav} />
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {state.kind === 'lost' ? <OfflineBanner error={state.error} retryAt={state.retryAt} /> : null}
          <main id="main" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto">
            <ErrorBoundary at={location}>
              <Routes />
            </ErrorBoundary>
          </main>
        </div>
        <BottomBar {...nav} />
      </div>
      <ToastRegion />
      <ShortcutsHelp open={help} onClose={() => setHelp(false)} />
    </ArrivalContext>
  );
}

const ShortcutsHelp = ({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) => (
  <Dialog title="Keyboard shortcuts" open={open} onClose={onClose} wide>
    <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
      {LISTED_SHORTCUTS.map(({ where, keys }) => (
        <section key={where} aria-label={where}>
          <h3 className="mb-1.5 text-small font-semibold text-ink-faint">{where}</h3>
          <dl className="flex flex-col gap-1.5">
            {keys.map((one) => (
              <div key={one.does} className="flex items-center justify-between gap-4">
                <dt>{one.does}</dt>
                <dd className="flex gap-1">
                  {one.keys.map((key) => (
                    <Kbd key={key}>{key}</Kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  </Dialog>
);

/** The keyboard shortcuts of every page. */
function useShortcuts(showHelp: () => void): void {
  const [, navigate] = useLocation();
  const before = useRef<{ key: string; at: number } | undefined>(undefined);
  const onKey = (key: string) => {
    const open = before.current;
    const first = open !== undefined && performance.now() - open.at < SEQUENCE_MS ? open.key : undefined;
    before.current = undefined;
    const meaning = readKey(key, first);
    // Nothing else sees the second key of a sequence, so `g r` never rejects a review.
    if (meaning === undefined) return first !== undefined;
    if (meaning === 'begins') before.current = { key, at: performance.now() };
    else if (meaning.kind === 'go') navigate(meaning.path);
    else if (meaning.kind === 'help') showHelp();
    else document.querySelector<HTMLElement>('[data-search]')?.focus();
    return true;
  };
  useKeys(onKey, { first: true });
}

interface ErrorBoundaryProps {
  /** The current location. Navigating clears an error. */
  readonly at: string;
  readonly children: ReactNode;
}

interface Caught {
  readonly at: string;
  readonly error?: ErrorJson | undefined;
}

/**
 * The messages of Chrome, Firefox, Safari and Vite if a page's script or style cannot be fetched. They do not fetch it
 * again.
 */
const MISSING_CODE = /dynamically imported module|module script failed|preload CSS/i;

/** Contains the failure of one page. React needs a class for this. */
class ErrorBoundary extends Component<ErrorBoundaryProps, Caught> {
  override state: Caught = { at: this.props.at };

  static getDerivedStateFromProps({ at }: ErrorBoundaryProps, state: Caught): Caught | null {
    return at === state.at ? null : { at, error: undefined };
  }

  static getDerivedStateFromError(thrown: unknown): { readonly error: ErrorJson } {
    return { error: toRuntimeError(thrown).toJSON() };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="p-6">
        {MISSING_CODE.test(error.message) ? (
          <MissingCode error={error} />
        ) : (
          <ErrorState
            title="This page stopped working."
            error={error}
            onRetry={() => this.setState({ error: undefined })}
          />
        )}
      </div>
    );
  }
}

/** Shown instead of the pages while the server requires a token. */
function TokenPrompt({ error }: { readonly error: ErrorJson }) {
  const { token, signIn } = useSignIn();
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '') signIn(tokenIn(text));
  };
  return (
    <main className="flex min-h-full items-center justify-center p-4">
      <form
        onSubmit={submit}
        className="flex w-full max-w-md flex-col gap-4 rounded-xl border border-line bg-surface p-6"
      >
        <div className="flex items-center gap-2 text-title font-semibold">
          <Logo />
          <h1>Telltale</h1>
        </div>
        <p className="text-ink-soft">
          To sign in, open the link that <code>telltale dev</code> or <code>telltale serve</code> printed, or
          paste it here.
        </p>
        <Field
          label="Link or token"
          error={token === undefined ? undefined : `${error.message} ${error.hint ?? ''}`}
          hint="This tab keeps it until you close the tab."
        >
          {(tie) => (
            <input
              {...tie}
              type="password"
              autoComplete="off"
              spellCheck={false}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <Button kind="primary" type="submit" icon="key">
          Sign in
        </Button>
        <div className="text-small text-ink-faint">
          <p className="mb-1">To print the link again, run this on the server’s machine, in its folder:</p>
          <Code text="telltale token link" />
        </div>
      </form>
    </main>
  );
}

/** The bottom bar of a narrow screen: the four most used pages, and the others behind "More". */
function BottomBar({ home, waiting }: Omit<NavProps, 'onHelp'>) {
  const [more, setMore] = useState(false);
  const rest = NAV_ITEMS.filter(({ main }) => !main);
  const isInRest = rest.some(({ path }) => path === home);
  return (
    <nav
      aria-label="Pages"
      className="flex shrink-0 gap-1 border-t border-line bg-surface px-2 pt-1 pb-[max(0.25rem,env(safe-area-inset-bottom))] md:hidden"
    >
      {NAV_ITEMS.filter(({ main }) => main).map((item) => (
        <NavLink
          key={item.path}
          narrow
          item={item}
          active={home === item.path}
          count={item.path === '/reviews' ? waiting : 0}
        />
      ))}
      <button
        type="button"
        aria-haspopup="dialog"
        onClick={() => setMore(true)}
        className={cx(
          'flex flex-1 flex-col items-center justify-center gap-0.5 rounded-md py-1.5 text-micro font-medium',
          isInRest ? 'bg-accent-soft text-accent' : 'text-ink-soft hover:bg-hover',
        )}
      >
        <Icon name="chevronDown" size={18} className="rotate-180" />
        More
      </button>
      <Dialog title="More" open={more} onClose={() => setMore(false)}>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the links inside do the work; following one closes the list. */}
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click, too. */}
        <div className="flex flex-col gap-1" onClick={() => setMore(false)}>
          {rest.map((item) => (
            <NavLink key={item.path} item={item} active={home === item.path} count={0} />
          ))}
        </div>
        <div className="mt-3 border-t border-line pt-3">
          <ConnectionNote />
        </div>
      </Dialog>
    </nav>
  );
}
