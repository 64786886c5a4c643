import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { FromBackend, NotedOwner, ToBackend } from './messages.ts';

export interface BackendListener {
  received(message: FromBackend): void;
  /** It ended without being asked to. */
  died(error: RuntimeError): void;
}

/** What keeps a store. It gets one group at a time, and answers writes before reads. */
export interface StoreBackend {
  listen(listener: BackendListener): void;
  post(message: ToBackend): void;
  /** The process stays for what is under way; `letGo`: it may end. */
  hold(): void;
  letGo(): void;
  /** Gives up what this store owns, and closes. */
  close(): Promise<void>;
}

/** Who this store is, and which other owners of streams are alive. */
export interface OwnerView {
  readonly self: { readonly pid: number; readonly host?: string };
  isAlive(owner: NotedOwner): boolean;
  /** Where owners may be on other machines. */
  hostOf?(owner: NotedOwner): string;
}
