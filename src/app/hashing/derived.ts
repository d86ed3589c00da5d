/** What came of a derivation, as it crosses back from the thread. */
export type Derived =
  | { readonly ok: true; readonly hash: Uint8Array }
  | { readonly ok: false; readonly message: string }
