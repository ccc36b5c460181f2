class McpsProxyClient {
    constructor(baseUrl, schema = 'default') {
        this.baseUrl = baseUrl;
        this.schema = schema;
        this.id = 1;
    }

    async request(method, params = {}) {
        const response = await fetch(`${this.baseUrl}/api/${this.schema}/mcp`, {
            method: 'POST',
            headers: {
                'Content-Type': 'application/json'
            },
            body: JSON.stringify({
                jsonrpc: '2.0',
                method: method,
                params: params,
                id: this.id++
            })
        });

        return response.json();
    }

    async getTools() {
        return this.request('tools/list');
    }

    async callTool(toolName, args) {
        return this.request('tools/call', {
            name: toolName,
            arguments: args
        });
    }
}

// 使用示例
const client = new McpsProxyClient('http://localhost:3095');

// 获取工具列表
client.getTools().then(result => {
    console.log('可用工具:', result.result.tools);
});

// 调用工具
client.callTool('filesystem-read_file', {path: './package.json'}).then(result => {
    console.log('文件内容:', result.result.content[0].text);
});
