// Generated from the table of operations by `npm run generate`.
export interface paths {
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the audit log */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bindings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List bindings */
        get: operations["list_bindings"];
        put?: never;
        /** Bind a publication to an endpoint */
        post: operations["create_binding"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bindings/{publication}/{endpoint}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a binding */
        get: operations["get_binding"];
        put?: never;
        post?: never;
        /** Delete a binding */
        delete: operations["delete_binding"];
        options?: never;
        head?: never;
        /** Change a binding */
        patch: operations["update_binding"];
        trace?: never;
    };
    "/api/v1/call-logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List calls */
        get: operations["list_calls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Apply a configuration */
        post: operations["apply_config"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export resources as a configuration file */
        get: operations["export_config"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config/patch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Preview the change of one resource */
        post: operations["preview_change"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Plan an apply */
        post: operations["plan_config"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config/revisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List revisions */
        get: operations["list_revisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config/revisions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a revision with its changes */
        get: operations["get_revision"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Roll back to an earlier revision */
        post: operations["roll_back"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config/sets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the sets of configuration files */
        get: operations["list_sets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Check a configuration */
        post: operations["validate_config"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List endpoints */
        get: operations["list_endpoints"];
        put?: never;
        /** Create an endpoint */
        post: operations["create_endpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/endpoints/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an endpoint */
        get: operations["get_endpoint"];
        put?: never;
        post?: never;
        /** Delete an endpoint */
        delete: operations["delete_endpoint"];
        options?: never;
        head?: never;
        /** Change an endpoint */
        patch: operations["update_endpoint"];
        trace?: never;
    };
    "/api/v1/endpoints/{name}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take an endpoint out of traffic */
        post: operations["disable_endpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/endpoints/{name}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let an endpoint serve traffic */
        post: operations["enable_endpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/endpoints/{name}/probe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Probe an endpoint */
        post: operations["probe_endpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/endpoints/probe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Probe an endpoint that does not exist yet */
        post: operations["probe_candidate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Watch changes and live rates */
        get: operations["watch_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/gateways": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List gateways */
        get: operations["list_gateways"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/gateways/{id}/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget a gateway that will never return */
        post: operations["forget_gateway"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/join-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List join tokens */
        get: operations["list_join_tokens"];
        put?: never;
        /** Create a join token */
        post: operations["create_join_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/join-tokens/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a join token */
        delete: operations["revoke_join_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List keys */
        get: operations["list_keys"];
        put?: never;
        /** Create a key */
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a key */
        get: operations["get_key"];
        put?: never;
        post?: never;
        /** Delete a key and its secrets */
        delete: operations["delete_key"];
        options?: never;
        head?: never;
        /** Change the policy of a key */
        patch: operations["update_key"];
        trace?: never;
    };
    "/api/v1/keys/{name}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Suspend a key at once, whatever its owner */
        post: operations["disable_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{name}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End the suspension of a key */
        post: operations["enable_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{name}/issue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Mint the first secret of a key */
        post: operations["issue_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{name}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revoke all secrets of a key at once, whatever its owner */
        post: operations["revoke_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{name}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Mint a new secret and end the older ones */
        post: operations["rotate_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/maintenance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show maintenance mode */
        get: operations["get_maintenance"];
        /** Switch maintenance mode on or off */
        put: operations["set_maintenance"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the models that keys may call */
        get: operations["list_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List nodes */
        get: operations["list_nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a node */
        get: operations["get_node"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a node no new calls */
        post: operations["drain_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End the credential of a node */
        post: operations["revoke_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/uncordon": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a node calls again */
        post: operations["uncordon_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/playground/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a call to the gateway */
        post: operations["call_playground"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/publications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List publications */
        get: operations["list_publications"];
        put?: never;
        /** Create a publication */
        post: operations["create_publication"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/publications/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a publication */
        get: operations["get_publication"];
        put?: never;
        post?: never;
        /** Delete a publication */
        delete: operations["delete_publication"];
        options?: never;
        head?: never;
        /** Change a publication */
        patch: operations["update_publication"];
        trace?: never;
    };
    "/api/v1/pulse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show live rates */
        get: operations["get_pulse"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rejected-calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List rejected calls */
        get: operations["list_rejections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show this session */
        get: operations["get_session"];
        put?: never;
        /** Log in */
        post: operations["log_in"];
        /** Log out */
        delete: operations["log_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log in with a one-time link */
        post: operations["log_in_by_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Change your own password */
        put: operations["change_password"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Log out everywhere */
        delete: operations["log_out_everywhere"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the status */
        get: operations["get_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List tenants */
        get: operations["list_tenants"];
        put?: never;
        /** Create a tenant */
        post: operations["create_tenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a tenant */
        get: operations["get_tenant"];
        put?: never;
        post?: never;
        /** Delete a tenant */
        delete: operations["delete_tenant"];
        options?: never;
        head?: never;
        /** Change a tenant */
        patch: operations["update_tenant"];
        trace?: never;
    };
    "/api/v1/tenants/{name}/wallet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a balance */
        get: operations["get_wallet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{name}/wallet/credit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add to a balance, once per reference */
        post: operations["credit_wallet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{name}/wallet/debit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Subtract from a balance, once per reference */
        post: operations["debit_wallet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{name}/wallet/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the entries of a balance */
        get: operations["list_wallet_entries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List tokens */
        get: operations["list_tokens"];
        put?: never;
        /** Create a token */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a token */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show usage and cost */
        get: operations["get_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List users */
        get: operations["list_users"];
        put?: never;
        /** Create a user */
        post: operations["create_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a user */
        get: operations["get_user"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change a user */
        patch: operations["update_user"];
        trace?: never;
    };
    "/api/v1/users/{name}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set a new password */
        put: operations["reset_password"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Log a user out everywhere */
        delete: operations["end_user_sessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Why a call would be served or rejected */
        get: operations["explain"];
        put?: never;
        /** The same for the secret of a client */
        post: operations["explain_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        __schema0: string | number | boolean | null | components["schemas"]["__schema0"][] | {
            [key: string]: components["schemas"]["__schema0"];
        };
        __schema1: string | number | boolean | null | components["schemas"]["__schema1"][] | {
            [key: string]: components["schemas"]["__schema1"];
        };
        __schema2: string | number | boolean | null | components["schemas"]["__schema2"][] | {
            [key: string]: components["schemas"]["__schema2"];
        };
        __schema3: string | number | boolean | null | components["schemas"]["__schema3"][] | {
            [key: string]: components["schemas"]["__schema3"];
        };
        audit_line: {
            action: string;
            address?: string;
            /** Format: date-time */
            at: string;
            id: number;
            /** @enum {string} */
            origin: "rest" | "cli";
            reason?: string;
            request_id?: string;
            revision?: number;
            role: string;
            target?: string;
            user: string;
        };
        binding_patch: {
            priority?: number | null;
            served_model?: string | null;
            weight?: number | null;
        };
        binding_shown: {
            /** Format: date-time */
            created_at: string;
            created_revision: number;
            endpoint: string;
            file?: string;
            line?: number;
            /** @enum {string} */
            owner: "config" | "cli" | "rest";
            priority: number;
            publication: string;
            served_model?: string;
            set?: string;
            updated_revision: number;
            weight: number;
        };
        booked: {
            /** @example 12.50 */
            balance: string;
            booked: boolean;
            currency: string;
            entry: components["schemas"]["wallet_entry"];
            tenant: string;
        };
        booking: {
            /**
             * @example 0.15
             * @example 12.5
             */
            amount: string | number;
            note?: string;
            reference: string;
        };
        call: {
            /** Format: date-time */
            at: string;
            attempts: number;
            cache_write_tokens?: number;
            cached_input_tokens?: number;
            characters?: number;
            /** @example 12.50 */
            cost: string;
            currency: string;
            duration_ms?: number;
            endpoint?: string;
            error_code?: string;
            failed_attempts?: string[];
            first_byte_ms?: number;
            flags: string[];
            id: number;
            images?: number;
            input_tokens?: number;
            key: string;
            latency_ms: number;
            model: string;
            node?: string;
            outcome: string;
            output_tokens?: number;
            path: string;
            /** @enum {string} */
            protocol: "openai" | "anthropic";
            reason?: string;
            request_id: string;
            search_units?: number;
            status: number;
            stream: boolean;
            tenant?: string;
        };
        callable_model: {
            max_input_tokens?: number;
            max_output_tokens?: number;
            name: string;
            owned_by: string;
            paths: string[];
            price?: {
                cache_write?: string;
                cached_input?: string;
                input?: string;
                output?: string;
                per_character?: string;
                per_image?: string;
                per_request?: string;
                per_search_unit?: string;
                per_second?: string;
            } | {
                cache_write?: string;
                cached_input?: string;
                /**
                 * @example 2026-12-01
                 * @example 2026-12-01T00:00:00+01:00
                 */
                from?: string;
                input?: string;
                output?: string;
                per_character?: string;
                per_image?: string;
                per_request?: string;
                per_search_unit?: string;
                per_second?: string;
            }[];
        };
        candidate_endpoint: {
            /** @enum {string} */
            auth?: "bearer" | "x-api-key";
            /** Format: uri */
            base_url?: string;
            display_name?: string;
            /** @default true */
            enabled?: boolean;
            /** @default {} */
            headers?: {
                [key: string]: string;
            };
            /** @default {} */
            labels?: {
                [key: string]: string;
            };
            max_concurrency?: number;
            max_concurrency_per_node?: number;
            nodes?: {
                engine: string;
                labels?: {
                    [key: string]: string;
                };
                names?: string[];
            };
            paths?: ("/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens")[];
            /** @enum {string} */
            protocol: "openai" | "anthropic";
            proxy?: string;
            served_model?: string;
            /** @default false */
            skip_probe?: boolean;
            /** @default {} */
            timeouts?: {
                /**
                 * @default 5s
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                connect?: string;
                /**
                 * @default 5m
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                first_byte?: string;
                /**
                 * @default 2m
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                idle?: string;
                /**
                 * @default 30m
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                total?: string;
            };
            /** Format: password */
            upstream_key?: string;
        };
        change_preview: {
            file?: string;
            git_commit?: string;
            line?: number;
            /** @enum {string} */
            owner?: "config" | "cli" | "rest";
            patch?: string;
            patches_file?: boolean;
            plan: components["schemas"]["plan"];
            set?: string;
        };
        check_name: ("key" | "maintenance" | "tenant" | "body" | "ban" | "listing" | "models" | "protocol" | "nodes" | "endpoints" | "price" | "ledger") | string;
        config_applied: {
            applied: boolean;
            plan: components["schemas"]["plan"];
            probes: components["schemas"]["probe"][];
            revision: number;
            served_by?: number;
        };
        config_apply: {
            allow_deletes?: number;
            base: number;
            /** @default false */
            skip_probe?: boolean;
            yaml: string;
        };
        config_problem: {
            code: string;
            column: number;
            file: string;
            frame?: string;
            hint: string;
            line: number;
            message: string;
            other?: {
                column: number;
                file: string;
                line: number;
            };
            /** @enum {string} */
            severity: "error" | "warning";
        };
        config_source: {
            yaml: string;
        };
        config_valid: {
            files: number;
            problems: components["schemas"]["config_problem"][];
            resources: number;
            set: string;
            /** @constant */
            valid: true;
        };
        decision: {
            candidates: components["schemas"]["why_candidate"][];
            checks: components["schemas"]["why_check"][];
            estimate?: {
                amount: string;
                input_tokens: number;
                output_tokens: number;
            };
            key?: string;
            model: string;
            /** @enum {string} */
            path: "/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens";
            rejection?: {
                check?: components["schemas"]["check_name"];
                code: string;
                hint?: string;
                message: string;
                retry_after_seconds?: number;
                status: number;
            };
            served: boolean;
            tenant?: string;
            visible: boolean;
        };
        endpoint_patch: {
            auth?: ("bearer" | "x-api-key") | null;
            base_url?: string | null;
            display_name?: string | null;
            enabled?: boolean | null;
            headers?: {
                [key: string]: string | null;
            } | null;
            labels?: {
                [key: string]: string | null;
            } | null;
            max_concurrency?: number | null;
            max_concurrency_per_node?: number | null;
            nodes?: {
                engine?: string;
                labels?: {
                    [key: string]: string | null;
                } | null;
                names?: string[] | null;
            } | null;
            paths?: ("/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens")[] | null;
            /** @enum {string} */
            protocol?: "openai" | "anthropic";
            proxy?: string | null;
            served_model?: string;
            skip_probe?: boolean | null;
            timeouts?: {
                connect?: string | null;
                first_byte?: string | null;
                idle?: string | null;
                total?: string | null;
            } | null;
            upstream_key?: string | null;
        };
        endpoint_shown: {
            /** @enum {string} */
            auth?: "bearer" | "x-api-key";
            /** Format: uri */
            base_url?: string;
            /** Format: date-time */
            created_at: string;
            created_revision: number;
            display_name?: string;
            enabled: boolean;
            file?: string;
            headers: {
                [key: string]: string | {
                    env?: string;
                    file?: string;
                };
            };
            health?: {
                reason?: string;
                /** Format: date-time */
                since: string;
                /** @enum {string} */
                state: "unknown" | "healthy" | "unhealthy";
            };
            labels: {
                [key: string]: string;
            };
            line?: number;
            matched_nodes?: {
                connected: number;
                joined: number;
            };
            max_concurrency?: number;
            max_concurrency_per_node?: number;
            name: string;
            nodes?: {
                engine: string;
                labels?: {
                    [key: string]: string;
                };
                names?: string[];
            };
            /** @enum {string} */
            owner: "config" | "cli" | "rest";
            paths?: ("/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens")[];
            /** @enum {string} */
            protocol: "openai" | "anthropic";
            proxy?: string | {
                env?: string;
                file?: string;
            };
            served_model: string;
            set?: string;
            skip_probe: boolean;
            timeouts: {
                /**
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                connect: string;
                /**
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                first_byte: string;
                /**
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                idle: string;
                /**
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                total: string;
            };
            tls?: {
                ca?: {
                    env?: string;
                    file?: string;
                };
                cert?: {
                    env?: string;
                    file?: string;
                };
                key?: {
                    env?: string;
                    file?: string;
                };
            };
            updated_revision: number;
            upstream_key?: {
                env?: string;
                file?: string;
                /** Format: date-time */
                since?: string;
                /** @constant */
                stored?: true;
            };
        };
        event: {
            /** @constant */
            event: "status";
            revision: number;
        } | {
            changes: {
                action: string;
                target?: string;
            }[];
            /** @constant */
            event: "changed";
            revision: number;
        } | {
            /** @constant */
            event: "live_stats";
            live_stats: components["schemas"]["live_stats"];
        } | {
            /** @constant */
            event: "calls";
            newest: number;
            newest_rejected: number;
        };
        explanation: {
            /** Format: date-time */
            at: string;
            decision?: components["schemas"]["decision"];
            keys?: {
                key: string;
                /** @enum {string} */
                path: "/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens";
                rejection?: {
                    check?: components["schemas"]["check_name"];
                    code: string;
                    hint?: string;
                    message: string;
                    retry_after_seconds?: number;
                    status: number;
                };
                served: boolean;
                tenant?: string;
                visible: boolean;
            }[];
            models?: {
                model: string;
                /** @enum {string} */
                path: "/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens";
                rejection?: {
                    check?: components["schemas"]["check_name"];
                    code: string;
                    hint?: string;
                    message: string;
                    retry_after_seconds?: number;
                    status: number;
                };
                served: boolean;
                visible: boolean;
            }[];
            revision?: number;
            /** @enum {string} */
            source: "files" | "store" | "gateway";
            unknown: string[];
        };
        exported_config: {
            resources: string[];
            variables: string[];
            yaml: string;
        };
        followed_files: {
            gateway: string;
            paths: string[];
            watch: boolean;
        };
        forgotten_gateway: {
            /** @constant */
            forgotten: true;
            id: string;
            open_calls: number;
            shares: number;
        };
        gateway: {
            behind: boolean;
            in_flight: number;
            name: string;
            reasons: string[];
            revision: number;
            started_at: string | null;
            /** @enum {string} */
            state: "ok" | "degraded" | "draining" | "maintenance" | "silent";
            url: string | null;
            version: string | null;
        };
        issued_join_token: {
            /** Format: date-time */
            created_at: string;
            created_by?: string;
            /** Format: date-time */
            expires_at: string;
            id: string;
            labels: {
                [key: string]: string;
            };
            pattern: string;
            server?: string;
            token: string;
            uses_left: number;
        };
        issued_secret: {
            /** Format: date-time */
            grace_until?: string;
            key: string;
            secret: string;
        };
        issued_token: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            id: string;
            /** Format: date-time */
            last_used_at?: string;
            name: string;
            /** @enum {string} */
            role: "admin" | "tenant";
            /** @enum {string} */
            scope: "read" | "write";
            tenant?: string;
            token: string;
            user: string;
        };
        join_token: {
            /** Format: date-time */
            created_at: string;
            created_by?: string;
            /** Format: date-time */
            expires_at: string;
            id: string;
            labels: {
                [key: string]: string;
            };
            pattern: string;
            uses_left: number;
        };
        joined_gateway: {
            id: string;
            lease_until: string | null;
            name: string | null;
            open_calls: number;
            revision: number | null;
            seen_at: string | null;
            shares: number | null;
            started_at: string | null;
            /** @enum {string} */
            state: "alive" | "late" | "fenced";
            url: string | null;
            version: string | null;
        };
        key_patch: {
            budget?: {
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                amount?: string | number;
                mode?: ("enforce" | "shadow") | null;
                /** @enum {string} */
                per?: "day" | "month" | "total";
                timezone?: string | null;
            } | null;
            display_name?: string | null;
            enabled?: boolean | null;
            expires_at?: string | null;
            hash?: string | null;
            /** @enum {string} */
            kind?: "platform" | "tenant";
            limits?: {
                concurrency?: (number | {
                    limit?: number;
                    mode?: ("enforce" | "shadow") | null;
                }) | null;
                rpm?: (number | {
                    burst?: number | null;
                    limit?: number;
                    mode?: ("enforce" | "shadow") | null;
                }) | null;
                tpm?: (number | {
                    burst?: number | null;
                    limit?: number;
                    mode?: ("enforce" | "shadow") | null;
                }) | null;
            } | null;
            models?: string[] | null;
            quota?: (number | {
                mode?: ("enforce" | "shadow") | null;
                tokens?: number;
            }) | null;
            tenant?: string | null;
        };
        key_revoked: {
            key: string;
            secrets: number;
            suspended: boolean;
        };
        key_shown: {
            budget?: {
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                amount: string | number;
                /** @enum {string} */
                mode?: "enforce" | "shadow";
                /** @enum {string} */
                per: "day" | "month" | "total";
                timezone: string;
            };
            /** Format: date-time */
            created_at: string;
            created_revision: number;
            display_name?: string;
            enabled: boolean;
            /**
             * Format: date-time
             * @example 2027-01-31T00:00:00Z
             */
            expires_at?: string;
            file?: string;
            /** @enum {string} */
            kind: "platform" | "tenant";
            /** Format: date-time */
            last_used_at?: string;
            limits: {
                concurrency?: number | {
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
                rpm?: number | {
                    burst?: number;
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
                tpm?: number | {
                    burst?: number;
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
            };
            line?: number;
            models: string[];
            name: string;
            /** @enum {string} */
            owner: "config" | "cli" | "rest";
            quota?: number | {
                /** @enum {string} */
                mode?: "enforce" | "shadow";
                tokens: number;
            };
            secret: {
                active: number;
                /** Format: date-time */
                created_at?: string;
                /** @enum {string} */
                source?: "issued" | "hash" | "reference";
            };
            set?: string;
            spend?: {
                /** @example 12.50 */
                amount: string;
                currency: string;
                /** @example 12.50 */
                in_budget?: string;
                tokens: number;
            };
            /** @enum {string} */
            state: "active" | "disabled" | "suspended" | "expired" | "no_secret";
            /** Format: date-time */
            suspended_at?: string;
            tenant?: string;
            updated_revision: number;
        };
        key_switched: {
            changed: boolean;
            key: string;
            /** @enum {string} */
            state: "enabled" | "disabled";
        };
        limit_usage: {
            burst?: number;
            /** Format: date-time */
            fresh_at?: string;
            held: number | string;
            limit?: number | string;
            /** @constant */
            mode?: "shadow";
            needed: number | string;
            /** @enum {string} */
            unit: "requests" | "tokens" | "money";
            used?: number | string;
        };
        live_stats: {
            /** Format: date-time */
            at: string;
            endpoints: {
                failed: number;
                name: string;
                p50_ms: number | null;
                p95_ms: number | null;
                reason: string | null;
                requests_per_second: number;
                results: {
                    [key: string]: number;
                };
                since: string | null;
                /** @enum {string} */
                state: "healthy" | "unhealthy" | "disabled" | "unknown";
                tokens_per_second: number;
            }[];
            gateways: components["schemas"]["gateway"][];
            keys: {
                limits: {
                    limit: string;
                    of: string;
                    share: number;
                    used: string;
                }[];
                name: string;
                requests_per_second: number;
                tenant: string | null;
                tokens_per_second: number;
            }[];
            models: {
                failed: number;
                name: string;
                p50_ms: number | null;
                p95_ms: number | null;
                requests_per_second: number;
                results: {
                    [key: string]: number;
                };
                tokens_per_second: number;
            }[];
            notes: string[];
            rejections: {
                per_second: number;
                reason: string;
                total: number;
            }[] | null;
            seconds: number;
            store_revision: number | null;
            total: {
                in_flight: number;
                rejected_per_second: number | null;
                requests_per_second: number;
                tokens_per_second: number;
            };
            unanswered: number;
        };
        log_in: {
            /**
             * @default bearer
             * @enum {string}
             */
            carrier?: "bearer" | "cookie";
            /** Format: password */
            password: string;
            username: string;
        };
        log_in_by_link: {
            /**
             * @default bearer
             * @enum {string}
             */
            carrier?: "bearer" | "cookie";
            /** Format: password */
            link: string;
        };
        maintenance: {
            declared: boolean;
            file?: string;
            line?: number;
            message: string;
            on: boolean;
            switched?: {
                author?: string;
                message?: string;
                /** Format: date-time */
                since: string;
            };
        };
        maintenance_switch: {
            enabled: boolean;
            message?: string;
        };
        maintenance_switched: {
            changed: boolean;
            declared: boolean;
            file?: string;
            line?: number;
            message: string;
            on: boolean;
            switched?: {
                author?: string;
                message?: string;
                /** Format: date-time */
                since: string;
            };
        };
        new_binding: {
            endpoint: string;
            /** @default 0 */
            priority?: number;
            publication: string;
            served_model?: string;
            /** @default 1 */
            weight?: number;
        };
        new_endpoint: {
            /** @enum {string} */
            auth?: "bearer" | "x-api-key";
            /** Format: uri */
            base_url?: string;
            display_name?: string;
            /** @default true */
            enabled?: boolean;
            /** @default {} */
            headers?: {
                [key: string]: string;
            };
            /** @default {} */
            labels?: {
                [key: string]: string;
            };
            max_concurrency?: number;
            max_concurrency_per_node?: number;
            name: string;
            nodes?: {
                engine: string;
                labels?: {
                    [key: string]: string;
                };
                names?: string[];
            };
            paths?: ("/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens")[];
            /** @enum {string} */
            protocol: "openai" | "anthropic";
            proxy?: string;
            served_model: string;
            /** @default false */
            skip_probe?: boolean;
            /** @default {} */
            timeouts?: {
                /**
                 * @default 5s
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                connect?: string;
                /**
                 * @default 5m
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                first_byte?: string;
                /**
                 * @default 2m
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                idle?: string;
                /**
                 * @default 30m
                 * @example 30s
                 * @example 5m
                 * @example 1h30m
                 */
                total?: string;
            };
            /** Format: password */
            upstream_key?: string;
        };
        new_join_token: {
            /**
             * @default 1h
             * @example 30s
             * @example 5m
             * @example 1h30m
             */
            expires_in?: string;
            /** @default {} */
            labels?: {
                [key: string]: string;
            };
            pattern: string;
            /** @default 1 */
            uses?: number;
        };
        new_key: {
            budget?: {
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                amount: string | number;
                /** @enum {string} */
                mode?: "enforce" | "shadow";
                /** @enum {string} */
                per: "day" | "month" | "total";
                /** @default UTC */
                timezone?: string;
            };
            display_name?: string;
            /** @default true */
            enabled?: boolean;
            /**
             * Format: date-time
             * @example 2027-01-31T00:00:00Z
             */
            expires_at?: string;
            hash?: string;
            /** @enum {string} */
            kind: "platform" | "tenant";
            limits?: {
                concurrency?: number | {
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
                rpm?: number | {
                    burst?: number;
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
                tpm?: number | {
                    burst?: number;
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
            };
            /**
             * @default [
             *       "*"
             *     ]
             */
            models?: string[];
            name: string;
            quota?: number | {
                /** @enum {string} */
                mode?: "enforce" | "shadow";
                tokens: number;
            };
            tenant?: string;
        };
        new_password: {
            /** Format: password */
            password: string;
        };
        new_publication: {
            display_name?: string;
            max_input_tokens?: number;
            max_output_tokens?: number;
            name: string;
            /** @enum {string} */
            on_disconnect?: "abort" | "drain";
            /** @enum {string} */
            on_upstream_error?: "charge" | "free";
            /** @enum {string} */
            output_cap?: "none" | "max_tokens" | "max_completion_tokens";
            /** @default gw */
            owned_by?: string;
            price?: {
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                cache_write?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                cached_input?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                input?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                output?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_character?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_image?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_request?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_search_unit?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_second?: string | number;
            } | {
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                cache_write?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                cached_input?: string | number;
                /**
                 * @example 2026-12-01
                 * @example 2026-12-01T00:00:00+01:00
                 */
                from?: string;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                input?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                output?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_character?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_image?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_request?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_search_unit?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_second?: string | number;
            }[];
            /**
             * @default listed
             * @enum {string}
             */
            status?: "draft" | "listed" | "unlisted" | "banned";
        };
        new_tenant: {
            /** @default [] */
            banned_models?: string[];
            /**
             * @default postpaid
             * @enum {string}
             */
            billing?: "postpaid" | "prepaid";
            display_name?: string;
            limits?: {
                concurrency?: number | {
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
                rpm?: number | {
                    burst?: number;
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
                tpm?: number | {
                    burst?: number;
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
            };
            /**
             * @default [
             *       "*"
             *     ]
             */
            models?: string[];
            name: string;
            self_service?: {
                limits?: {
                    concurrency?: number | {
                        limit: number;
                        /** @enum {string} */
                        mode?: "enforce" | "shadow";
                    };
                    rpm?: number | {
                        burst?: number;
                        limit: number;
                        /** @enum {string} */
                        mode?: "enforce" | "shadow";
                    };
                    tpm?: number | {
                        burst?: number;
                        limit: number;
                        /** @enum {string} */
                        mode?: "enforce" | "shadow";
                    };
                };
                max_keys: number;
                /**
                 * @default [
                 *       "*"
                 *     ]
                 */
                models?: string[];
            };
            /**
             * @default active
             * @enum {string}
             */
            status?: "active" | "disabled" | "banned";
        };
        new_token: {
            /**
             * @default 90d
             * @example 30s
             * @example 5m
             * @example 1h30m
             */
            expires_in?: string;
            name: string;
            /**
             * @default read
             * @enum {string}
             */
            scope?: "read" | "write";
            tenant?: string;
        };
        new_user: {
            name: string;
            /** Format: password */
            password: string;
            /** @enum {string} */
            role: "admin" | "tenant";
            tenant?: string;
        };
        node_endpoint: {
            in_flight?: number;
            name: string;
            /** @enum {string} */
            state?: "healthy" | "unhealthy" | "unknown";
        };
        node_engine: {
            kind?: string;
            load?: {
                cache?: number;
                running: number;
                waiting: number;
            };
            models: string[];
            name: string;
            /** @enum {string} */
            state: "up" | "down";
        };
        node_revoked: {
            name: string;
            /** @constant */
            revoked: true;
        };
        node_shown: {
            address?: string;
            /** Format: date-time */
            connected_at?: string;
            declared: boolean;
            /** Format: date-time */
            draining_since?: string;
            endpoints: components["schemas"]["node_endpoint"][];
            engines?: components["schemas"]["node_engine"][];
            /** Format: date-time */
            joined_at: string;
            labels: {
                [key: string]: string;
            };
            name: string;
            /** @enum {string} */
            state: "connected" | "draining" | "disconnected";
            version?: string;
        };
        opened_session: {
            /** @enum {string} */
            carrier: "bearer" | "cookie";
            /** Format: date-time */
            created_at: string;
            csrf_token?: string;
            currency?: string;
            /** Format: date-time */
            expires_at: string;
            gateway_url?: string;
            /** Format: date-time */
            idle_expires_at: string;
            may: string[];
            token?: string;
            user: {
                name: string;
                /** @enum {string} */
                role: "admin" | "tenant";
                tenant?: string;
            };
        };
        password_change: {
            /** Format: password */
            current_password: string;
            /** Format: password */
            new_password: string;
        };
        plan: {
            base: number;
            blast_radius?: {
                access: ({
                    gains: string[];
                    keys: string[];
                    loses: string[];
                    loses_all: boolean;
                } & {
                    [key: string]: unknown;
                })[];
                breaks_keys: number;
                currency: string;
                goes_away: ({
                    /** @enum {string} */
                    how: "deleted" | "disabled";
                    kind: string;
                    last_24h: {
                        cost: string;
                        requests: number;
                        tokens: number;
                    } & {
                        [key: string]: unknown;
                    };
                    last_used_at: string | null;
                    name: string;
                } & {
                    [key: string]: unknown;
                })[];
                in_use_goes_away: number;
                limits: ({
                    after: string | number;
                    before: string | number | null;
                    kind: string;
                    limit: string;
                    name: string;
                    used: string | number;
                } & {
                    [key: string]: unknown;
                })[];
                nodes: ({
                    endpoint: string;
                    gains: string[];
                    loses: ({
                        last_24h: {
                            requests: number;
                        } & {
                            [key: string]: unknown;
                        };
                        node: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                    matches: string[];
                } & {
                    [key: string]: unknown;
                })[];
                paths: ({
                    loses: string[];
                    publication: string;
                } & {
                    [key: string]: unknown;
                })[];
                prices: ({
                    after: string | null;
                    before: string | null;
                    part: string;
                    percent?: number;
                    publication: string;
                } & {
                    [key: string]: unknown;
                })[];
                unserved: string[];
            } & {
                [key: string]: unknown;
            };
            changes: ({
                /** @enum {string} */
                action: "create" | "update" | "delete";
                fields: ({
                    added?: components["schemas"]["__schema2"][];
                    after?: components["schemas"]["__schema1"];
                    before?: components["schemas"]["__schema0"];
                    path: string;
                    removed?: components["schemas"]["__schema3"][];
                    /** @enum {string} */
                    type: "value" | "list" | "secret";
                } & {
                    [key: string]: unknown;
                })[];
                kind: string;
                name: string;
            } & {
                [key: string]: unknown;
            })[];
            counts: {
                create: number;
                delete: number;
                unchanged: number;
                update: number;
            };
            restores?: number;
            set?: string;
            verdict?: string;
            warnings: ({
                code: string;
                kind: string;
                message: string;
                name: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        playground_call: {
            body: {
                [key: string]: components["schemas"]["__schema0"];
            };
            /** @enum {string} */
            path: "/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens";
            /** Format: password */
            secret: string;
        };
        playground_event: {
            content_type: string | null;
            /** @constant */
            event: "head";
            request_id: string | null;
            status: number;
        } | {
            /** @constant */
            event: "data";
            text: string;
        } | {
            call: components["schemas"]["call"] | null;
            /** @constant */
            event: "end";
            first_byte_ms: number | null;
            total_ms: number;
        };
        probe: {
            by?: string;
            cause?: string;
            endpoint: string;
            fault?: string;
            fix?: {
                base_url?: string;
                protocol?: string;
            };
            hint?: string;
            latency_ms: number | null;
            model: string;
            models?: string[] | null;
            paths?: string[] | null;
            protocol: string;
            reason?: string;
            /** @enum {string} */
            state: "ok" | "failed" | "skipped";
            status?: number | null;
        };
        probes: {
            failed: number;
            ok: number;
            probes: components["schemas"]["probe"][];
            skipped: number;
        };
        problem: {
            code: string;
            detail: string;
            errors?: {
                detail: string;
                header?: string;
                parameter?: string;
                pointer?: string;
            }[];
            hint: string;
            request_id: string;
            status: number;
            title: string;
            type: string;
        } & {
            [key: string]: unknown;
        };
        publication_patch: {
            display_name?: string | null;
            max_input_tokens?: number | null;
            max_output_tokens?: number | null;
            on_disconnect?: ("abort" | "drain") | null;
            on_upstream_error?: ("charge" | "free") | null;
            output_cap?: ("none" | "max_tokens" | "max_completion_tokens") | null;
            owned_by?: string | null;
            price?: ({
                cache_write?: (string | number) | null;
                cached_input?: (string | number) | null;
                input?: (string | number) | null;
                output?: (string | number) | null;
                per_character?: (string | number) | null;
                per_image?: (string | number) | null;
                per_request?: (string | number) | null;
                per_search_unit?: (string | number) | null;
                per_second?: (string | number) | null;
            } | {
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                cache_write?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                cached_input?: string | number;
                /**
                 * @example 2026-12-01
                 * @example 2026-12-01T00:00:00+01:00
                 */
                from?: string;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                input?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                output?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_character?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_image?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_request?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_search_unit?: string | number;
                /**
                 * @example 0.15
                 * @example 12.5
                 */
                per_second?: string | number;
            }[]) | null;
            status?: ("draft" | "listed" | "unlisted" | "banned") | null;
        };
        publication_shown: {
            /** Format: date-time */
            created_at: string;
            created_revision: number;
            display_name?: string;
            file?: string;
            line?: number;
            max_input_tokens?: number;
            max_output_tokens?: number;
            name: string;
            /** @enum {string} */
            on_disconnect?: "abort" | "drain";
            /** @enum {string} */
            on_upstream_error?: "charge" | "free";
            /** @enum {string} */
            output_cap?: "none" | "max_tokens" | "max_completion_tokens";
            owned_by: string;
            /** @enum {string} */
            owner: "config" | "cli" | "rest";
            price?: {
                cache_write?: string;
                cached_input?: string;
                input?: string;
                output?: string;
                per_character?: string;
                per_image?: string;
                per_request?: string;
                per_search_unit?: string;
                per_second?: string;
            } | {
                cache_write?: string;
                cached_input?: string;
                /**
                 * @example 2026-12-01
                 * @example 2026-12-01T00:00:00+01:00
                 */
                from?: string;
                input?: string;
                output?: string;
                per_character?: string;
                per_image?: string;
                per_request?: string;
                per_search_unit?: string;
                per_second?: string;
            }[];
            set?: string;
            /** @enum {string} */
            status: "draft" | "listed" | "unlisted" | "banned";
            updated_revision: number;
        };
        rejected_call: {
            asked_model?: string;
            /** Format: date-time */
            at: string;
            count: number;
            /** @constant */
            dispatched: false;
            error_code: string;
            id: number;
            key?: string;
            message: string;
            /** @enum {string} */
            outcome: "rejected" | "failed";
            path: string;
            /** @enum {string} */
            protocol: "openai" | "anthropic";
            reason?: string;
            request_id: string;
            status: number;
            tenant?: string;
        };
        revised: {
            revision: number;
        };
        revision: {
            author?: string;
            base: number;
            counts: {
                create: number;
                delete: number;
                unchanged: number;
                update: number;
            };
            /** Format: date-time */
            created_at: string;
            dirty?: boolean;
            git_commit?: string;
            id: number;
            /** @enum {string} */
            origin: "apply" | "cli" | "rest" | "rollback";
            restores?: number;
            set?: string;
        };
        revision_shown: {
            author?: string;
            base: number;
            changes: ({
                /** @enum {string} */
                action: "create" | "update" | "delete";
                fields: ({
                    added?: components["schemas"]["__schema2"][];
                    after?: components["schemas"]["__schema1"];
                    before?: components["schemas"]["__schema0"];
                    path: string;
                    removed?: components["schemas"]["__schema3"][];
                    /** @enum {string} */
                    type: "value" | "list" | "secret";
                } & {
                    [key: string]: unknown;
                })[];
                kind: string;
                name: string;
            } & {
                [key: string]: unknown;
            })[];
            counts: {
                create: number;
                delete: number;
                unchanged: number;
                update: number;
            };
            /** Format: date-time */
            created_at: string;
            dirty?: boolean;
            git_commit?: string;
            id: number;
            /** @enum {string} */
            origin: "apply" | "cli" | "rest" | "rollback";
            restores?: number;
            set?: string;
            since?: number;
        };
        rollback: {
            allow_deletes?: number;
            base?: number;
            /** @default false */
            dry_run?: boolean;
            revision: number;
        };
        rolled_back: {
            applied: boolean;
            followed_files?: components["schemas"]["followed_files"][];
            plan: components["schemas"]["plan"];
            revision: number;
            served_by?: number;
        };
        rotation: {
            /**
             * @example 30s
             * @example 5m
             * @example 1h30m
             */
            grace?: string;
        };
        session: {
            /** @enum {string} */
            carrier: "bearer" | "cookie";
            /** Format: date-time */
            created_at: string;
            csrf_token?: string;
            currency?: string;
            /** Format: date-time */
            expires_at: string;
            gateway_url?: string;
            /** Format: date-time */
            idle_expires_at: string;
            may: string[];
            user: {
                name: string;
                /** @enum {string} */
                role: "admin" | "tenant";
                tenant?: string;
            };
        };
        sets: {
            data: {
                files: string[];
                name: string;
                resources: {
                    [key: string]: number;
                };
                updated_revision: number;
            }[];
            unmanaged: {
                [key: string]: number;
            };
        };
        status: {
            /** Format: date-time */
            at: string;
            endpoints: {
                name: string;
                reason: string | null;
                since: string | null;
                /** @enum {string} */
                state: "healthy" | "unhealthy" | "disabled" | "unknown";
            }[];
            gateways: components["schemas"]["gateway"][];
            last_hour?: {
                amount: string;
                currency: string;
                requests: number;
                tokens: number;
            };
            maintenance?: boolean;
            notes: string[];
            problems: string[];
            resources?: {
                [key: string]: number;
            };
            revision?: {
                /** Format: date-time */
                at: string;
                author: string | null;
                git_commit: string | null;
                id: number;
            } | null;
            store_revision: number | null;
            unanswered: number;
        };
        tenant_patch: {
            banned_models?: string[] | null;
            billing?: ("postpaid" | "prepaid") | null;
            display_name?: string | null;
            limits?: {
                concurrency?: (number | {
                    limit?: number;
                    mode?: ("enforce" | "shadow") | null;
                }) | null;
                rpm?: (number | {
                    burst?: number | null;
                    limit?: number;
                    mode?: ("enforce" | "shadow") | null;
                }) | null;
                tpm?: (number | {
                    burst?: number | null;
                    limit?: number;
                    mode?: ("enforce" | "shadow") | null;
                }) | null;
            } | null;
            models?: string[] | null;
            self_service?: {
                limits?: {
                    concurrency?: (number | {
                        limit?: number;
                        mode?: ("enforce" | "shadow") | null;
                    }) | null;
                    rpm?: (number | {
                        burst?: number | null;
                        limit?: number;
                        mode?: ("enforce" | "shadow") | null;
                    }) | null;
                    tpm?: (number | {
                        burst?: number | null;
                        limit?: number;
                        mode?: ("enforce" | "shadow") | null;
                    }) | null;
                } | null;
                max_keys?: number;
                models?: string[] | null;
            } | null;
            status?: ("active" | "disabled" | "banned") | null;
        };
        tenant_shown: {
            banned_models: string[];
            /** @enum {string} */
            billing: "postpaid" | "prepaid";
            /** Format: date-time */
            created_at: string;
            created_revision: number;
            display_name?: string;
            file?: string;
            limits: {
                concurrency?: number | {
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
                rpm?: number | {
                    burst?: number;
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
                tpm?: number | {
                    burst?: number;
                    limit: number;
                    /** @enum {string} */
                    mode?: "enforce" | "shadow";
                };
            };
            line?: number;
            models: string[];
            name: string;
            /** @enum {string} */
            owner: "config" | "cli" | "rest";
            self_service?: {
                limits: {
                    concurrency?: number | {
                        limit: number;
                        /** @enum {string} */
                        mode?: "enforce" | "shadow";
                    };
                    rpm?: number | {
                        burst?: number;
                        limit: number;
                        /** @enum {string} */
                        mode?: "enforce" | "shadow";
                    };
                    tpm?: number | {
                        burst?: number;
                        limit: number;
                        /** @enum {string} */
                        mode?: "enforce" | "shadow";
                    };
                };
                max_keys: number;
                models: string[];
            };
            set?: string;
            /** @enum {string} */
            status: "active" | "disabled" | "banned";
            updated_revision: number;
        };
        token: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            id: string;
            /** Format: date-time */
            last_used_at?: string;
            name: string;
            /** @enum {string} */
            role: "admin" | "tenant";
            /** @enum {string} */
            scope: "read" | "write";
            tenant?: string;
            user: string;
        };
        usage: {
            /** @enum {string} */
            by: "key" | "tenant" | "model" | "endpoint" | "day" | "hour";
            currency: string;
            data: components["schemas"]["usage_row"][];
            /** Format: date-time */
            since: string;
            /** @enum {string} */
            split?: "key" | "tenant" | "model" | "endpoint";
            /** Format: date-time */
            until: string;
        };
        usage_row: {
            cache_write_tokens: number;
            cached_input_tokens: number;
            characters: number;
            /** @example 12.50 */
            cost: string;
            duration_ms: number;
            estimated: number;
            images: number;
            input_tokens: number;
            label: string | null;
            output_tokens: number;
            requests: number;
            search_units: number;
            split?: string | null;
            unpriced: number;
        };
        user: {
            /** Format: date-time */
            created_at: string;
            enabled: boolean;
            /** Format: date-time */
            last_login_at?: string;
            name: string;
            /** @enum {string} */
            role: "admin" | "tenant";
            sessions: number;
            tenant?: string;
            version: number;
        };
        user_patch: {
            enabled?: boolean;
            /** @enum {string} */
            role?: "admin" | "tenant";
            tenant?: string | null;
        };
        wallet: {
            /** @example 12.50 */
            available?: string;
            /** @example 12.50 */
            balance: string;
            /** @enum {string} */
            billing?: "postpaid" | "prepaid";
            currency: string;
            /** @example 12.50 */
            held: string;
            tenant: string;
        };
        wallet_entry: {
            /** @example 12.50 */
            amount: string;
            /** Format: date-time */
            at: string;
            author?: string;
            cache_write_tokens?: number;
            cached_input_tokens?: number;
            characters?: number;
            duration_ms?: number;
            flags: string[];
            id: number;
            images?: number;
            input_tokens?: number;
            key?: string;
            /** @enum {string} */
            kind: "settle" | "credit" | "debit" | "adjust";
            model?: string;
            note?: string;
            output_tokens?: number;
            price?: {
                [key: string]: string;
            };
            reference?: string;
            request_id?: string;
            search_units?: number;
        };
        wanted_change: {
            /** @enum {string} */
            kind: "endpoint" | "publication" | "binding" | "tenant" | "key";
            name: string;
            patch?: {
                [key: string]: components["schemas"]["__schema0"];
            };
        };
        why_candidate: {
            /** Format: date-time */
            cooldown_until?: string;
            endpoint: string;
            /** @enum {string} */
            health: "unknown" | "healthy" | "unhealthy";
            /** Format: date-time */
            health_since?: string;
            in_flight: number;
            max_concurrency?: number;
            /** Format: date-time */
            next_probe?: string;
            node?: string;
            /** @enum {string} */
            obstacle?: "disabled" | "unhealthy" | "cooling_down" | "full" | "unweighted" | "no_node" | "silent" | "draining" | "engine_down" | "busy";
            priority: number;
            reason?: string;
            served_model: string;
            share: number;
            weight: number;
        };
        why_check: {
            check: components["schemas"]["check_name"];
            detail: string;
            rejection?: {
                code: string;
                hint?: string;
                message: string;
                retry_after_seconds?: number;
                status: number;
            };
            usage?: components["schemas"]["limit_usage"];
            /** @enum {string} */
            verdict: "passes" | "rejects" | "would_reject" | "not_reached" | "assumed";
        };
        why_secret: {
            input_tokens?: number;
            max_tokens?: number;
            model?: string;
            /** @enum {string} */
            path?: "/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens";
            /** Format: password */
            secret: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_audit: {
        parameters: {
            query?: {
                action?: string;
                cursor?: string;
                limit?: number;
                target?: string;
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["audit_line"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    list_bindings: {
        parameters: {
            query?: {
                cursor?: string;
                endpoint?: string;
                limit?: number;
                publication?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["binding_shown"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    create_binding: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["new_binding"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["binding_shown"];
                };
            };
        };
    };
    get_binding: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                endpoint: string;
                publication: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["binding_shown"];
                };
            };
        };
    };
    delete_binding: {
        parameters: {
            query?: never;
            header?: {
                "if-match"?: string;
            };
            path: {
                endpoint: string;
                publication: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["revised"];
                };
            };
        };
    };
    update_binding: {
        parameters: {
            query?: never;
            header: {
                "if-match": string;
            };
            path: {
                endpoint: string;
                publication: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["binding_patch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["binding_shown"];
                };
            };
        };
    };
    list_calls: {
        parameters: {
            query?: {
                cursor?: string;
                endpoint?: string;
                key?: string;
                limit?: number;
                min_status?: number;
                model?: string;
                node?: string;
                outcome?: string;
                request_id?: string;
                since?: string;
                tenant?: string;
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["call"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    apply_config: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["config_apply"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["config_applied"];
                };
            };
        };
    };
    export_config: {
        parameters: {
            query?: {
                set?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["exported_config"];
                };
            };
        };
    };
    preview_change: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["wanted_change"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["change_preview"];
                };
            };
        };
    };
    plan_config: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["config_source"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["plan"];
                };
            };
        };
    };
    list_revisions: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["revision"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    get_revision: {
        parameters: {
            query?: {
                since?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["revision_shown"];
                };
            };
        };
    };
    roll_back: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["rollback"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["rolled_back"];
                };
            };
        };
    };
    list_sets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["sets"];
                };
            };
        };
    };
    validate_config: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["config_source"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["config_valid"];
                };
            };
        };
    };
    list_endpoints: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                owner?: "config" | "cli" | "rest";
                q?: string;
                set?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["endpoint_shown"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    create_endpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["new_endpoint"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["endpoint_shown"];
                };
            };
        };
    };
    get_endpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["endpoint_shown"];
                };
            };
        };
    };
    delete_endpoint: {
        parameters: {
            query?: never;
            header?: {
                "if-match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["revised"];
                };
            };
        };
    };
    update_endpoint: {
        parameters: {
            query?: never;
            header: {
                "if-match": string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["endpoint_patch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["endpoint_shown"];
                };
            };
        };
    };
    disable_endpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["endpoint_shown"];
                };
            };
        };
    };
    enable_endpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["endpoint_shown"];
                };
            };
        };
    };
    probe_endpoint: {
        parameters: {
            query?: {
                paths?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["probes"];
                };
            };
        };
    };
    probe_candidate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["candidate_endpoint"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["probes"];
                };
            };
        };
    };
    watch_events: {
        parameters: {
            query?: {
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        data: string;
                        event: string;
                    };
                };
            };
        };
    };
    list_gateways: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["joined_gateway"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    forget_gateway: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["forgotten_gateway"];
                };
            };
        };
    };
    list_join_tokens: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["join_token"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    create_join_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["new_join_token"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["issued_join_token"];
                };
            };
        };
    };
    revoke_join_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_keys: {
        parameters: {
            query?: {
                cursor?: string;
                expiring?: string;
                limit?: number;
                owner?: "config" | "cli" | "rest";
                q?: string;
                set?: string;
                state?: "active" | "disabled" | "suspended" | "expired" | "no_secret";
                tenant?: string;
                unused?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["key_shown"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["new_key"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["key_shown"];
                };
            };
        };
    };
    get_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["key_shown"];
                };
            };
        };
    };
    delete_key: {
        parameters: {
            query?: never;
            header?: {
                "if-match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["revised"];
                };
            };
        };
    };
    update_key: {
        parameters: {
            query?: never;
            header: {
                "if-match": string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["key_patch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["key_shown"];
                };
            };
        };
    };
    disable_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["key_switched"];
                };
            };
        };
    };
    enable_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["key_switched"];
                };
            };
        };
    };
    issue_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["issued_secret"];
                };
            };
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["key_revoked"];
                };
            };
        };
    };
    rotate_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["rotation"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["issued_secret"];
                };
            };
        };
    };
    get_maintenance: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["maintenance"];
                };
            };
        };
    };
    set_maintenance: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["maintenance_switch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["maintenance_switched"];
                };
            };
        };
    };
    list_models: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                tenant?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["callable_model"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    list_nodes: {
        parameters: {
            query?: {
                cursor?: string;
                endpoint?: string;
                limit?: number;
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["node_shown"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    get_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["node_shown"];
                };
            };
        };
    };
    drain_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["node_shown"];
                };
            };
        };
    };
    revoke_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["node_revoked"];
                };
            };
        };
    };
    uncordon_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["node_shown"];
                };
            };
        };
    };
    call_playground: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["playground_call"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        data: string;
                        event: string;
                    };
                };
            };
        };
    };
    list_publications: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                owner?: "config" | "cli" | "rest";
                q?: string;
                set?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["publication_shown"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    create_publication: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["new_publication"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["publication_shown"];
                };
            };
        };
    };
    get_publication: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["publication_shown"];
                };
            };
        };
    };
    delete_publication: {
        parameters: {
            query?: never;
            header?: {
                "if-match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["revised"];
                };
            };
        };
    };
    update_publication: {
        parameters: {
            query?: never;
            header: {
                "if-match": string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["publication_patch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["publication_shown"];
                };
            };
        };
    };
    get_pulse: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["live_stats"];
                };
            };
        };
    };
    list_rejections: {
        parameters: {
            query?: {
                cursor?: string;
                key?: string;
                limit?: number;
                min_status?: number;
                model?: string;
                request_id?: string;
                since?: string;
                tenant?: string;
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["rejected_call"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    get_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["session"];
                };
            };
        };
    };
    log_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["log_in"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["opened_session"];
                };
            };
        };
    };
    log_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    log_in_by_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["log_in_by_link"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["opened_session"];
                };
            };
        };
    };
    change_password: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["password_change"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    log_out_everywhere: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    get_status: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["status"];
                };
            };
        };
    };
    list_tenants: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                owner?: "config" | "cli" | "rest";
                q?: string;
                set?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["tenant_shown"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    create_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["new_tenant"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["tenant_shown"];
                };
            };
        };
    };
    get_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["tenant_shown"];
                };
            };
        };
    };
    delete_tenant: {
        parameters: {
            query?: never;
            header?: {
                "if-match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["revised"];
                };
            };
        };
    };
    update_tenant: {
        parameters: {
            query?: never;
            header: {
                "if-match": string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["tenant_patch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["tenant_shown"];
                };
            };
        };
    };
    get_wallet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["wallet"];
                };
            };
        };
    };
    credit_wallet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["booking"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["booked"];
                };
            };
        };
    };
    debit_wallet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["booking"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["booked"];
                };
            };
        };
    };
    list_wallet_entries: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["wallet_entry"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["token"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["new_token"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["issued_token"];
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    get_usage: {
        parameters: {
            query?: {
                by?: "key" | "tenant" | "model" | "endpoint" | "day" | "hour";
                endpoint?: string;
                key?: string;
                model?: string;
                since?: string;
                split?: "key" | "tenant" | "model" | "endpoint";
                tenant?: string;
                timezone?: string;
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["usage"];
                };
            };
        };
    };
    list_users: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["user"][];
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    create_user: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["new_user"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["user"];
                };
            };
        };
    };
    get_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["user"];
                };
            };
        };
    };
    update_user: {
        parameters: {
            query?: never;
            header: {
                "if-match": string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["user_patch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["user"];
                };
            };
        };
    };
    reset_password: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["new_password"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    end_user_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    explain: {
        parameters: {
            query?: {
                input_tokens?: number;
                key?: string;
                max_tokens?: number;
                model?: string;
                path?: "/v1/chat/completions" | "/v1/completions" | "/v1/responses" | "/v1/responses/compact" | "/v1/responses/input_tokens" | "/v1/embeddings" | "/v1/rerank" | "/v1/images/generations" | "/v1/audio/speech" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/audio/translations" | "/v1/moderations" | "/v1/messages" | "/v1/messages/count_tokens";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["explanation"];
                };
            };
        };
    };
    explain_secret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["why_secret"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["explanation"];
                };
            };
        };
    };
}
