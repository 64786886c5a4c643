import { useState } from 'react';
import type { TokenInfo } from '../../../../telltale/src/client/api.ts';
import { usePaged } from '../../data/use-paged.ts';
import { plural } from '../../format/format-number.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { CreateTokenDialog } from './create-token-dialog.tsx';
import { PagedList } from './paged-list.tsx';
import { RevokeTokenDialog } from './revoke-token-dialog.tsx';

/** Who may use the server, and what they may. Secrets are shown to nobody. */
export function TokensPanel() {
  const list = usePaged('tokens', (client, _, signal) => client.tokens({ signal }));
  const [isMaking, setMaking] = useState(false);
  const [revoked, setRevoked] = useState<TokenInfo>();
  const make = (
    <Button kind="primary" icon="plus" size="small" onClick={() => setMaking(true)}>
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
          <EmptyState icon="key" title="There are no tokens." actions={make}>
            On this machine none is needed. To let other machines or programs in, make one for each.
          </EmptyState>
        }
        idOf={({ name }) => name}
        row={(token) => (
          <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-3 py-2">
            <Icon name="key" size={14} className="text-ink-faint" />
            <span className="font-medium">{token.name}</span>
            <span className="rounded bg-sunken px-1.5 text-small text-ink-soft">{token.role}</span>
            <span className="ml-auto text-small text-ink-faint">
              made <RelativeTime at={token.createdAt} />
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
              {make}
            </>
          )
        }
      />
      <CreateTokenDialog open={isMaking} onClose={() => setMaking(false)} onMade={list.reload} />
      <RevokeTokenDialog token={revoked} onClose={() => setRevoked(undefined)} onDone={list.reload} />
    </>
  );
}
