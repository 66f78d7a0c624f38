/** Are these the same type, to the letter? */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Does not compile unless the claim is true. */
export declare const is: <Claim extends true>() => void
