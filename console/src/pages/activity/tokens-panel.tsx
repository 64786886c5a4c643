import { type FormEvent, useState } from 'react';
import type { CreatedToken, CreateToken, Role, TokenInfo } from '../../../../telltale/src/client/api.ts';
import { tokenIdentity } from '../../../../telltale/src/lib/ids.ts';
import { useReadable } from '../../data/readable.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { usePaged } from '../../data/use-paged.ts';
import { plural } from '../../format/format-number.ts';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Field } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { PagedList } from './paged-list.tsx';

/** Who may use the server, and what they may do. Secrets are never shown. */
export function TokensPanel() {
  const list = usePaged('tokens', (client, _, signal) => client.tokens({ signal }));
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<TokenInfo>();
  const create = (
    <Button kind="primary" icon="plus" size="small" onClick={() => setCreating(true)}>
      New token
    </Button>
  );
  return (
    <>
      <PagedList
        list={list}
        label="Tokens"
        failure="The tokens could not be read."
        empty={
          <EmptyState icon="key" title="No tokens yet." actions={create}>
            The link that the server printed signs you in. Create a token for each other person or program
            that uses this server.
          </EmptyState>
        }
        idOf={({ name }) => name}
        row={(token) => (
          <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-3 py-2">
            <Icon name="key" size={14} className="text-ink-faint" />
            <span className="min-w-0 font-medium break-all">{token.name}</span>
            <span className="rounded bg-sunken px-1.5 text-small text-ink-soft">{token.role}</span>
            <span className="ml-auto text-small text-ink-faint">
              created <RelativeTime at={token.createdAt} />
              {', '}
              {token.lastUsedAt === undefined ? (
                'never used'
              ) : (
                <>
                  last used <RelativeTime at={token.lastUsedAt} />
                </>
              )}
            </span>
            <Button
              size="small"
              kind="danger"
              aria-label={`Revoke ${token.name}`}
              onClick={() => setRevoked(token)}
            >
              Revoke
            </Button>
          </div>
        )}
        foot={
          list.items.length === 0 ? (
            <span />
          ) : (
            <>
              <span>{plural(list.items.length, 'token')}</span>
              {create}
            </>
          )
        }
      />
      {isCreating ? <CreateTokenDialog onClose={() => setCreating(false)} onCreated={list.reload} /> : null}
      <RevokeTokenDialog token={revoked} onClose={() => setRevoked(undefined)} onDone={list.reload} />
    </>
  );
}

const ROLES: Readonly<Record<Role, string>> = {
  read: 'Can read everything and change nothing.',
  run: 'Can read everything, start, steer and cancel sessions and runs, and answer reviews.',
  admin: 'Can do everything: also change artifacts, manifests and tokens.',
};

/** What the server accepts as the name of a token. */
const TOKEN_NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
const NAME_RULE = 'Use at most 64 letters, digits, “.”, “_”, “@” and “-”, and begin with a letter or digit.';

interface CreateTokenDialogProps {
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

/** Creates a token, and shows its secret once. */
function CreateTokenDialog({ onClose, onCreated }: CreateTokenDialogProps) {
  const [typed, setTyped] = useState('');
  const [role, setRole] = useState<Role>('run');
  const [created, setCreated] = useState<CreatedToken>();
  const create = useCall((client, options, token: CreateToken) => client.createToken(token, options));
  const name = typed.trim();
  const problem = name === '' || TOKEN_NAME.test(name) ? undefined : NAME_RULE;
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    if (name === '' || problem !== undefined) return;
    const token = await create.run({ name, role });
    if (token === undefined) return;
    setCreated(token);
    onCreated();
  };
  if (created !== undefined) return <NewTokenDialog token={created} onClose={onClose} />;
  return (
    <Dialog
      title="New token"
      open
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            icon="key"
            busy={create.busy}
            blocked={name === '' ? 'Give the token a name first.' : problem}
            onClick={() => void submit()}
          >
            Create the token
          </Button>
        </>
      }
    >
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
        <Field
          label="Name"
          hint="Name the person or program that will use it. The list of who did what shows this name."
          error={problem}
        >
          {(tie) => (
            <input
              {...tie}
              value={typed}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
        <Field label="Role" hint={ROLES[role]}>
          {(tie) => (
            <select {...tie} value={role} onChange={(event) => setRole(event.target.value as Role)}>
              {Object.keys(ROLES).map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        {create.error === undefined ? null : (
          <ErrorState title="The token was not created." error={create.error} />
        )}
      </form>
    </Dialog>
  );
}

/** Shows the secret of a new token. The server keeps only its hash, so only the button closes this dialog. */
function NewTokenDialog({ token, onClose }: { readonly token: CreatedToken; readonly onClose: () => void }) {
  const [copied, setCopied] = useState<'no' | 'yes' | 'failed'>('no');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(token.token);
      setCopied('yes');
    } catch {
      // The page may not be allowed to write to the clipboard. The token stays selectable.
      setCopied('failed');
    }
  };
  return (
    <Dialog
      title={`The token “${token.name}”`}
      open
      firm
      onClose={onClose}
      footer={<Button onClick={onClose}>I saved the token</Button>}
    >
      <div className="flex flex-col gap-3">
        <p className="flex gap-2 rounded-md bg-wait-soft px-3 py-2">
          <Icon name="alert" className="mt-0.5 text-wait" />
          Copy the token now. It is shown only once.
        </p>
        <Code text={token.token} />
        <div className="flex items-center gap-3">
          <Button kind="primary" icon={copied === 'yes' ? 'check' : 'copy'} onClick={() => void copy()}>
            {copied === 'yes' ? 'Copied' : 'Copy'}
          </Button>
          <span role="status" className="text-small text-ink-soft">
            {copied === 'yes' ? 'The token is on the clipboard.' : ''}
            {copied === 'failed' ? 'The browser does not allow it. Select the token and copy it.' : ''}
          </span>
        </div>
        <p className="text-small text-ink-faint">
          Programs send it with every request: <code>Authorization: Bearer TOKEN</code>
        </p>
      </div>
    </Dialog>
  );
}

interface RevokeTokenDialogProps {
  /** If undefined, the dialog is closed. */
  readonly token: TokenInfo | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** The token's user is locked out at once, so the person must confirm. */
function RevokeTokenDialog({ token, onClose, onDone }: RevokeTokenDialogProps) {
  const { toasts, who } = useData();
  const caller = useReadable(who);
  const isOwn = caller.kind === 'known' && token !== undefined && caller.who.by === tokenIdentity(token.name);
  const revoke = useCall((client, options, name: string) =>
    client.revokeToken(name, options).then(() => true),
  );
  const onRevoke = async () => {
    if (token === undefined || (await revoke.run(token.name)) === undefined) return;
    toasts.say('done', `The token “${token.name}” was revoked.`);
    onClose();
    onDone();
  };
  return (
    <Dialog
      title={`Revoke “${token?.name ?? ''}”?`}
      open={token !== undefined}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" icon="cross" busy={revoke.busy} onClick={() => void onRevoke()}>
            Revoke the token
          </Button>
        </>
      }
    >
      <p className="text-ink-soft">
        The server refuses this token from now on. You cannot undo this, but you can create a new one.
        {isOwn ? ' You are using this token now, so you will be signed out.' : ''}
      </p>
      {revoke.error === undefined ? null : (
        <div className="mt-3">
          <ErrorState title="The token was not revoked." error={revoke.error} />
        </div>
      )}
    </Dialog>
  );
}
