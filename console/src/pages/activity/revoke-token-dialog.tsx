import type { TokenInfo } from '../../../../telltale/src/client/api.ts';
import { tokenIdentity } from '../../../../telltale/src/kernel/identity.ts';
import { useReadable } from '../../data/readable.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorState } from '../../ui/error-state.tsx';

export interface RevokeTokenDialogProps {
  /** Undefined: nothing is asked. */
  readonly token: TokenInfo | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Whoever uses it is locked out at once: it is asked twice. */
export function RevokeTokenDialog({ token, onClose, onDone }: RevokeTokenDialogProps) {
  const { toasts, who } = useData();
  const caller = useReadable(who);
  const isOwn = caller.kind === 'known' && token !== undefined && caller.who.by === tokenIdentity(token.name);
  const revoke = useCall((client, options, name: string) =>
    client.revokeToken(name, options).then(() => true),
  );
  const onRevoke = async () => {
    if (token === undefined || (await revoke.run(token.name)) === undefined) return;
    toasts.say('done', `The token “${token.name}” counts no longer.`);
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
            Revoke it
          </Button>
        </>
      }
    >
      <p className="text-ink-soft">
        Whoever uses it is refused from then on. It cannot be brought back; a new one can be made.
        {isOwn ? ' It is the one that you are using now.' : ''}
      </p>
      {revoke.error === undefined ? null : (
        <div className="mt-3">
          <ErrorState title="It was not revoked." error={revoke.error} />
        </div>
      )}
    </Dialog>
  );
}
