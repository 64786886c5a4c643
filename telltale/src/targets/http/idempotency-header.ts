/** A request that changes something says which action it belongs to, so that a repeat can be recognised. */
export const idempotencyHeader = (method: string, key: string): Readonly<Record<string, string>> =>
  isSafeMethod(method) ? {} : { 'idempotency-key': key };

/** Such a request changes nothing, so it may be made again. */
export const isSafeMethod = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method);
